"""Traffic that a tier or pool is sized and simulated for."""

from typing import Annotated

from pydantic import Field

from inferfab.environment.base import Input, matching

PROFILE_PATTERN = r"^[A-Za-z0-9_.][A-Za-z0-9_./-]*\.json$"


class Traffic(Input):
    """A traffic profile, and how much of it."""

    profile: Annotated[
        str, matching(PROFILE_PATTERN, "a path from this file's folder to a profile, `traffic/chat.json`")
    ]
    """Path from this file's folder to a profile that `inferfab traffic fit` wrote."""
    scale: Annotated[float, Field(ge=0.001, le=1_000_000)] = 1.0
    """Times the profile's rate. Default: 1."""
