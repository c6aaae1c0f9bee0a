"""From the bytes of a file that ought to be `terraform show -json` to text, or to what to run instead."""

import codecs

from inferfab.review.errors import BadPlan

SHOW = "`terraform show -json PLANFILE > plan.json` (or `tofu show -json`)"
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


def decoded(data: bytes) -> str:
    """Text of a plan in UTF-8, UTF-8 with a mark, or UTF-16 as PowerShell's ``>`` writes it.

    :raises BadPlan: for an empty file, a binary plan, and text in no encoding that a plan comes in.
    """
    if not data.strip(b"\0 \t\r\n"):
        raise BadPlan(f"is empty: the command that should have written it failed; run {SHOW} and look at its exit code")
    # A saved plan is a zip archive (hashicorp/terraform internal/plans/planfile).
    if data[:4] in (b"PK\x03\x04", b"PK\x05\x06"):
        raise BadPlan(f"is a binary plan as `terraform plan -out` writes it; run {SHOW} in its folder")
    encoding = next((name for mark, name in _MARKS if data.startswith(mark)), None)
    if encoding is None:
        # UTF-16 without a mark: every other byte of ASCII is zero.
        encoding = "utf-16-le" if data[1:2] == b"\0" else "utf-16-be" if data[:1] == b"\0" else "utf-8"
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        raise BadPlan(f"is not text in UTF-8 or UTF-16 ({error.reason} at byte {error.start}); run {SHOW}") from error
