"""``inferfab explain``"""

import json
from enum import StrEnum
from typing import Annotated

import typer


class ExplainFormat(StrEnum):
    text = "text"
    json = "json"


def _complete(incomplete: str) -> list[str]:
    from inferfab.checks.explain import all_rules

    # In the case that was typed: what does not begin with the typed letters is not offered.
    ids = [r.id if incomplete == incomplete.upper() else r.id.lower() for r in all_rules()]
    return [id_ for id_ in ids if id_.startswith(incomplete)]


def explain_command(
    rule_id: Annotated[
        str | None,
        typer.Argument(
            metavar="RULE",
            help="Rule id, `IF-MEM-002`. Without one, all rules are listed.",
            autocompletion=_complete,
            show_default=False,
        ),
    ] = None,
    format: Annotated[
        ExplainFormat, typer.Option("--format", "-f", help="For people or machines.")
    ] = ExplainFormat.text,
) -> None:
    """Explain a rule: what it means, why it matters, what to do, and the source.

    Examples: `inferfab explain IF-MEM-002`, `inferfab explain`
    """
    from inferfab.checks.explain import all_rules, explain
    from inferfab.cli.output import deliver, rendered
    from inferfab.environment.problems import meant
    from inferfab.render.text.findings import printable

    rules = all_rules()
    if rule_id is not None:
        one = explain(rule_id)
        if one is None:
            hint = meant(rule_id.upper(), [r.id for r in rules])
            raise typer.BadParameter(f"there is no rule `{printable(rule_id)}`; {hint}", param_hint="RULE")
        rules = (one,)
    if format is ExplainFormat.json:
        fields = ("id", "title", "severity", "joins", "why", "do", "source", "stage")
        deliver(json.dumps([{name: getattr(r, name) for name in fields} for r in rules], indent=1), None)
    elif rule_id is None:
        from inferfab.render.text.rules import print_rules

        deliver(rendered(lambda c: print_rules(c, rules)), None)
    else:
        from inferfab.render.text.rules import print_rule

        deliver(rendered(lambda c: print_rule(c, rules[0])), None)


def register(app: typer.Typer) -> None:
    app.command("explain")(explain_command)
