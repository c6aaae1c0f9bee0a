"""What every part of the environment file has in common: strict types, closed keys, names."""

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field


class Input(BaseModel):
    """A mapping of the environment file.

    Strict: ``"8"`` is not 8 and ``8.0`` is not 8, so that what stands in the file is what is meant.
    Closed: a key that nothing reads is an error. The string under each field is its documentation in the
    JSON Schema and in editors; a default is described as behaviour.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


T = TypeVar("T")
Items = Annotated[tuple[T, ...], Field(strict=False)]
"""A YAML list."""

Name = Annotated[str, Field(pattern=r"^[a-z]([-a-z0-9]*[a-z0-9])?$", max_length=40)]
"""Lower-case letters, digits and dashes, starting with a letter: it becomes part of cloud and cluster names."""

# Numbers have a lower and an upper end, so that no quotient or product of a plan is infinite.
Tokens = Annotated[int, Field(gt=0, le=10_000_000)]
Percent = Annotated[float, Field(ge=0, le=100)]
Share = Annotated[float, Field(ge=0.001, le=1)]
"""A part of a whole, at least a thousandth."""
MemoryShare = Annotated[float, Field(ge=0.05, le=1)]
"""Part of a GPU's memory that one engine may take."""
Milliseconds = Annotated[float, Field(ge=0.1, le=86_400_000)]
Usd = Annotated[float, Field(ge=0.001, le=1e12)]
Count = Annotated[int, Field(ge=0, le=100_000)]
PositiveCount = Annotated[int, Field(ge=1, le=100_000)]
Cidr = Annotated[str, Field(pattern=r"^[0-9]{1,3}(\.[0-9]{1,3}){3}/[0-9]{1,2}$")]
"""IPv4 range in CIDR notation, ``10.20.0.0/16``."""
