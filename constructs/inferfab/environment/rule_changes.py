"""Rules that a team lowers or switches off, each with its reason."""

from typing import Annotated, Literal

from inferfab.environment.base import Input, Name, matching

ChangedTo = Literal["off", "info", "warning"]


class RuleChange(Input):
    """One rule that counts for less, in the whole environment or in one pool."""

    rule: Annotated[str, matching(r"^IF-[A-Z]{3}-[0-9]{3}$", "write the id of a rule, like IF-PLC-006")]
    """Id of the rule. `inferfab explain` lists them all."""
    severity: ChangedTo
    """What its findings become; `off` removes them. Only lower than what they are. Errors that leave nothing to plan
    (syntax, a name that nothing declares) stay.
    """
    pool: Name | None = None
    """Only findings about this pool. Default: the whole environment."""
    reason: Annotated[
        str,
        matching(
            r"^\s*\S[\s\S]{8,}\S\s*$",
            "say in ten characters or more why that is right here",
            min_length=10,
            max_length=500,
        ),
    ]
    """Why that is right here. Every check and every review shows it."""
