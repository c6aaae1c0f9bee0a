"""A review that another job made (`--format json`), as a part of this one.

A Terraform plan holds secrets in the clear, so it should not leave the job that made it; a review of it holds none.
"""

import json
from pathlib import Path

from pydantic import ValidationError

from inferfab.review.errors import BadPlan
from inferfab.review.report import REVIEW_VERSION, Report

_HEAD = 200


def is_saved_review(path: Path) -> bool:
    """Whether a file says at its beginning that it is a review."""
    try:
        with path.open("rb") as stream:
            return b'"review_version"' in stream.read(_HEAD)
    except OSError:
        return False


def read_saved_review(path: Path) -> Report:
    """Read what `inferfab review --format json` wrote.

    :raises BadPlan: if it is broken or of another version.
    """
    try:
        raw = json.loads(path.read_bytes())
        version = raw.get("review_version") if isinstance(raw, dict) else None
        if version != REVIEW_VERSION:
            raise BadPlan(
                f"is a review of version {version!r:.20}, this inferfab reads {REVIEW_VERSION}: make it again"
            )
        return Report.model_validate_json(json.dumps(raw))
    except ValidationError as error:
        raise BadPlan(f"is a broken review ({error.error_count()} problem(s)): make it again") from error
    except (ValueError, RecursionError, OSError) as error:
        raise BadPlan("is a review that is not whole: make it again with `inferfab review --format json`") from error
