"""A review that another job made (`--format json`), as a part of this one.

A Terraform plan holds secrets in the clear, so it should not leave the job that made it; a review of it holds none.
"""

import json
import re
from pathlib import Path

from pydantic import ValidationError

from inferfab.input_files import MOST_PLAN_BYTES, read_bytes
from inferfab.review.errors import BadPlan
from inferfab.review.json_sections import JsonObject
from inferfab.review.report import REVIEW_VERSION, Report

_KEY = b'"review_version"'
_FIRST = re.compile(rb"\s*\{\s*" + _KEY)


def is_saved_review(path: Path) -> bool:
    """Whether a file is a review: by a key at its top. A plan may have a variable of that name."""
    try:
        data = read_bytes(path, MOST_PLAN_BYTES)
    except OSError:
        return False
    if _FIRST.match(data):
        return True
    # Sorted or written anew by another tool.
    if _KEY not in data or not data.lstrip().startswith(b"{"):
        return False
    text = data.decode("utf-8", "replace")
    try:
        places = JsonObject(text, text.index("{")).places
    except (ValueError, RecursionError):
        return False
    return "review_version" in places and "format_version" not in places


def read_saved_review(path: Path) -> Report:
    """Read what `inferfab review --format json` wrote.

    :raises BadPlan: if it is broken or of another version.
    """
    try:
        raw = json.loads(read_bytes(path, MOST_PLAN_BYTES))
        version = raw.get("review_version") if isinstance(raw, dict) else None
        if version != REVIEW_VERSION:
            raise BadPlan(
                f"is a review of version {version!r:.20}, this inferfab reads {REVIEW_VERSION}: make it again"
            )
        report = Report.model_validate_json(json.dumps(raw))
        if not report.stacks:
            raise BadPlan("is a review of no Terraform plan: environments are reviewed anew, with `--env`")
        return report
    except ValidationError as error:
        raise BadPlan(f"is a broken review ({error.error_count()} problem(s)): make it again") from error
    except (ValueError, RecursionError, OSError) as error:
        raise BadPlan("is a review that is not whole: make it again with `inferfab review --format json`") from error
