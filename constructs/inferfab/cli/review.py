"""``inferfab review``"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperCommand

from inferfab.cli.arguments import Out
from inferfab.cli.locate import complete_environment

if TYPE_CHECKING:
    from inferfab.review import Asked, Reviewed


class ReviewFormat(StrEnum):
    markdown = "markdown"
    html = "html"
    json = "json"
    sarif = "sarif"


_SUFFIX = {"markdown": "md", "html": "html", "json": "json", "sarif": "sarif"}


def review_command(
    plans: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="PLAN.json", help="From `terraform show -json`, or a review's JSON.", show_default=False
        ),
    ] = None,
    env: Annotated[
        list[str] | None,
        typer.Option("--env", "-e", help="Environment to review; several times.", autocompletion=complete_environment),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option("--base", "-b", help="What to compare environments with: git revision, plan JSON, or folder."),
    ] = None,
    format: Annotated[
        ReviewFormat, typer.Option("--format", "-f", help="Comment, page, machines, or a code host.")
    ] = ReviewFormat.markdown,
    out: Out = None,
    artifacts: Annotated[
        Path | None,
        typer.Option("--artifacts", help="Also write review.md, .html, .json and .sarif here.", file_okay=False),
    ] = None,
    summary: Annotated[
        Path | None, typer.Option("--summary", help="Append the review to this file, cut to a GitHub job summary.")
    ] = None,
    checkov: Annotated[Path | None, typer.Option("--checkov", help="JSON of a checkov run.", dir_okay=False)] = None,
    checkov_base: Annotated[
        Path | None, typer.Option("--checkov-base", help="JSON of checkov at the base: what is there counts as old.")
    ] = None,
    constructs: Annotated[
        Path | None, typer.Option("--constructs", help="Folder of `inferfab synth`: construct paths beside addresses.")
    ] = None,
    label: Annotated[
        list[str] | None,
        typer.Option("--label", help="Label of the pull request; inferfab:allow-destroy and :allow-purchase count."),
    ] = None,
    revision: Annotated[str, typer.Option("--revision", help="What is reviewed, in the report's head.")] = "",
    comment: Annotated[
        int | None, typer.Option("--comment", help="Number of the GitHub pull request to comment on.", min=1)
    ] = None,
    repository: Annotated[
        str, typer.Option("--repository", envvar="GITHUB_REPOSITORY", help="OWNER/NAME of it.", show_default=False)
    ] = "",
    at: Annotated[
        str,
        typer.Option("--at", help="Time of the event, ISO 8601, default now: an older comment never replaces a newer."),
    ] = "",
    author: Annotated[
        str,
        typer.Option(
            "--comment-author",
            help="Login that the token comments as, `my-app[bot]`; default, what GitHub says of the token.",
        ),
    ] = "",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the comment instead of posting it.")] = False,
) -> None:
    """Review a change: GPUs, dollars, promises, what it destroys, buys and opens, what could not be seen.

    Without a plan, `--env prod --base main` compares the environment with git's: no cloud, no credentials. Any
    Terraform or OpenTofu plan can be reviewed, also of stacks that inferfab did not make.

    Exit codes: 0 fine, 1 the review could not be made, 2 a plan is invalid or incomplete, 3 budget or policy
    breached, 4 destructive or irreversible without its label. The smallest that applies.

    Examples: `inferfab review --env prod --base main`, `inferfab review plan.json -f html -o review.html`
    """
    from inferfab.cli.output import Refused, deliver
    from inferfab.review import ReviewError, review
    from inferfab.review.github import Unposted

    try:
        if comment is None and (dry_run or at or author):
            given = "--dry-run" if dry_run else "--at" if at else "--comment-author"
            raise ReviewError(f"{given} is about the comment: give `--comment NUMBER` too")
        asked = _asked(plans or [], env or [], base, checkov, checkov_base, constructs, label or [], revision)
        reviewed = review(asked)
        for stack in reviewed.report.stacks:
            if stack.problem:
                from inferfab.render.text.findings import one_line

                typer.echo(f"{one_line(stack.file)} {one_line(stack.problem)}", err=True)
        if artifacts is not None:
            _write_all(reviewed, artifacts)
        if summary is not None:
            _append(reviewed, summary)
        if comment is None or out is not None:
            deliver(rendered_as(reviewed, format), out)
        if comment is not None:
            try:
                _comment(reviewed, repository, comment, at, author, dry_run=dry_run)
            except Unposted:
                # The review was made: it is not lost with the comment.
                if out is None:
                    deliver(rendered_as(reviewed, format), None)
                raise
    except ReviewError as error:
        raise Refused(str(error)) from error
    if reviewed.report.verdict.exit_code:
        raise typer.Exit(reviewed.report.verdict.exit_code)


def _asked(
    plans: list[Path],
    env: list[str],
    base: str | None,
    checkov: Path | None,
    checkov_base: Path | None,
    constructs: Path | None,
    label: list[str],
    revision: str,
) -> "Asked":
    from inferfab.cli.locate import locate
    from inferfab.review import Asked, ReviewError
    from inferfab.review.checkov import construct_paths, read_checkov

    if any(not name.strip() for name in env):
        raise ReviewError("--env is empty: name an environment, or a path to one")
    if not plans and not env:
        raise ReviewError("nothing to review: give `--env ENV` (with `--base main`), or plans as `PLAN.json`")
    missing = [str(p) for p in plans if not p.exists()]
    if missing:
        raise ReviewError(f"there is no such plan: {', '.join(missing)}")
    if base is not None and not env:
        raise ReviewError("--base is what an environment is compared with: give `--env ENV` too")
    if checkov_base is not None and checkov is None:
        raise ReviewError("--checkov-base needs --checkov, the run to compare with it")
    paths = construct_paths(constructs) if constructs is not None else {}
    return Asked(
        environments=tuple(dict.fromkeys(map(locate, env))),
        base=base,
        plans=tuple(dict.fromkeys(plans)),
        checkov=read_checkov(checkov, paths) if checkov is not None else None,
        checkov_base=read_checkov(checkov_base, paths) if checkov_base is not None else None,
        labels=tuple(label),
        revision=revision,
    )


def rendered_as(reviewed: "Reviewed", format: ReviewFormat) -> str:
    """A review in one format."""
    if format is ReviewFormat.json:
        return reviewed.report.model_dump_json(indent=1)
    if format is ReviewFormat.sarif:
        import json
        from importlib.metadata import version

        from inferfab.render.review.sarif import review_sarif

        return json.dumps(review_sarif(reviewed.report, version=version("inferfab")), indent=1, ensure_ascii=False)
    if format is ReviewFormat.html:
        from inferfab.render.review.html import html

        return html(reviewed)
    from inferfab.render.review.markdown import markdown

    return markdown(reviewed.report)


def _write_all(reviewed: "Reviewed", folder: Path) -> None:
    from inferfab.cli.output import deliver

    for each in ReviewFormat:
        deliver(rendered_as(reviewed, each), folder / f"review.{_SUFFIX[each]}")


def _append(reviewed: "Reviewed", file: Path) -> None:
    """GitHub shows a summary of up to 1 MiB, and none of a larger one."""
    from inferfab.cli.output import Refused
    from inferfab.render.review.markdown import markdown

    text = markdown(reviewed.report, limit=_SUMMARY_BYTES, whole="the artifact of this job")
    if len(text.encode("utf-8", "replace")) > _SUMMARY_BYTES:
        text = markdown(reviewed.report, limit=_SUMMARY_BYTES // 4, whole="the artifact of this job")
    try:
        with file.open("a", encoding="utf-8", errors="replace", newline="\n") as stream:
            stream.write(text)
    except OSError as error:
        raise Refused(f"cannot write {file}: {error.strerror or error}") from error


_SUMMARY_BYTES = 1_000_000


def _comment(reviewed: "Reviewed", repository: str, number: int, at: str, author: str, *, dry_run: bool) -> None:
    from inferfab.review import ReviewError
    from inferfab.review.github import Comment, Unposted, comment_of, post, settings

    comment: Comment = comment_of(reviewed.report, at=at)
    if dry_run:
        from inferfab.cli.output import deliver

        deliver(comment.body, None)
        return
    to = settings(repository, number, author)
    try:
        said = post(comment, to)
    except ReviewError as error:
        raise Unposted(str(error)) from error
    typer.echo(said, err=True)


class ReviewCommand(TyperCommand):
    """Wrong usage ends with 1 here: 2 says that a plan is invalid."""

    def make_context(self, *args: Any, **more: Any) -> Any:
        try:
            return super().make_context(*args, **more)
        except Exception as error:
            # Typer brings its own click or takes the installed one; its usage errors carry the exit code 2 in both.
            if getattr(error, "exit_code", None) == 2:
                error.exit_code = 1  # type: ignore[attr-defined]
            raise


def register(app: typer.Typer) -> None:
    app.command("review", cls=ReviewCommand)(review_command)
