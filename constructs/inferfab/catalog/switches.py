"""Leaf switches that run SONiC: ASICs, and the buffers that lossless traffic needs by port speed and cable."""

from functools import cache

from pydantic import NonNegativeInt, PositiveFloat, PositiveInt, model_validator

from inferfab.catalog.facts import DATA, FactFile, read_facts
from inferfab.record import Record


class Asic(Record):
    """What the headroom formula takes from the ASIC."""

    cell_bytes: PositiveInt
    """The buffer is given out in cells of this size."""
    pipeline_kib: PositiveFloat
    """Traffic that is under way in the pipeline while a pause is decided."""
    mac_phy_kib: PositiveFloat
    source: str


class Platform(Record):
    """One switch model."""

    title: str
    asic: str | None
    """None: the formula's constants are not known, so only a table gives its buffers."""
    pfc_to_pg_map: bool
    """Takes PFC_PRIORITY_TO_PRIORITY_GROUP_MAP; SONiC's own template writes it for some vendors only."""
    port_gbps: PositiveInt
    ports: PositiveInt
    """Of that speed; each may be split."""
    lanes: PositiveInt
    """Of a port at that speed."""


class BufferTable(Record):
    """A vendor's ``pg_profile_lookup.ini``."""

    source: str
    rows: tuple[tuple[int, ...], ...]

    @model_validator(mode="after")
    def _complete(self) -> "BufferTable":
        if any(len(row) not in (6, 7) for row in self.rows):
            raise ValueError("a row has 6 or 7 numbers")
        return self


class Headroom(Record):
    """The buffer of one lossless priority group, bytes."""

    gbps: PositiveInt
    metres: PositiveInt
    """Length that the row is for: the next one up from the cable's."""
    size: NonNegativeInt
    xon: NonNegativeInt
    xoff: PositiveInt
    dynamic_th: int
    xon_offset: NonNegativeInt | None = None


class SwitchFile(FactFile):
    asics: dict[str, Asic]
    pause_quanta: dict[int, PositiveInt]
    platforms: dict[str, Platform]
    skus: dict[str, str]
    tables: dict[str, BufferTable]

    @model_validator(mode="after")
    def _refers_to_itself(self) -> "SwitchFile":
        lost = [t for t in self.skus.values() if t not in self.tables]
        lost += [p.asic for p in self.platforms.values() if p.asic is not None and p.asic not in self.asics]
        if lost:
            raise ValueError(f"not there: {', '.join(lost)}")
        return self


@cache
def switch_file() -> SwitchFile:
    return read_facts(DATA / "switches.yaml", SwitchFile)


def platforms() -> dict[str, Platform]:
    """All switch models by SONiC's platform name."""
    return switch_file().platforms


def table_row(hwsku: str, gbps: int, metres: float) -> Headroom | None:
    """The vendor's row for the next cable length up; None where the table has none so fast or so long, or where there
    is no table for the SKU.
    """
    name = switch_file().skus.get(hwsku)
    if name is None:
        return None
    fitting = [row for row in switch_file().tables[name].rows if row[0] == gbps and row[1] >= metres]
    # Rows for very long cables, and those of Arista, do not grow evenly: the next one up, never a smaller xoff.
    best = min(fitting, key=lambda row: (row[1], row[4]), default=None)
    if best is None:
        return None
    return Headroom(
        gbps=best[0], metres=best[1], size=best[2], xon=best[3], xoff=best[4], dynamic_th=best[5],
        xon_offset=best[6] if len(best) > 6 else None,
    )  # fmt: skip
