"""The base of every typed value that inferfab reads, decides or writes."""

from pydantic import BaseModel, ConfigDict


class Record(BaseModel):
    """A frozen value that refuses unknown fields.

    Frozen, because a plan that could be edited after its checks ran would make the checks worthless;
    closed, because a misspelled key that is silently ignored is the most expensive kind of typo.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="null")
