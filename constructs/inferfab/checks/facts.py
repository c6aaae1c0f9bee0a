"""What a rule may look at."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date

from inferfab.environment.environment import Environment
from inferfab.environment.loading import Loaded
from inferfab.environment.pools import Pool
from inferfab.findings import YamlPath
from inferfab.plan.fleet import CellPlan, FleetPlan
from inferfab.plan.placement import NodeGroupPlan
from inferfab.plan.pools import PoolPlan
from inferfab.plan.roles import RolePlan
from inferfab.plan.served import ModelPlan
from inferfab.plan.tiers import TierPlan


@dataclass(frozen=True)
class Placed:
    """One role of one pool in one cell, with everything that was decided about it."""

    cell: CellPlan
    pool: PoolPlan
    role: RolePlan
    group: NodeGroupPlan
    model: ModelPlan
    tier: TierPlan

    @property
    def where(self) -> str:
        return f"{self.pool.name} {self.role.role} in {self.cell.name}"

    def replicas_path(self, facts: "Facts") -> YamlPath:
        """The replicas that hold here: the cell's own where it states some."""
        here = facts.environment.cells[self.cell.name].pools[self.pool.name]
        field = f"{self.role.role}_replicas"
        if here is not None and getattr(here, field) is not None:
            return ("cells", self.cell.name, "pools", self.pool.name, field)
        return self.path("replicas")

    def path(self, *more: str) -> YamlPath:
        """The role's fields in the environment file."""
        return ("pools", self.pool.name, self.role.role, *more)


@dataclass(frozen=True)
class Facts:
    """The environment, and the plan where there is one."""

    loaded: Loaded
    environment: Environment
    plan: FleetPlan | None = None
    as_of: date | None = None
    """The day that rules of dates are held against; None: they find nothing."""

    @property
    def fleet(self) -> FleetPlan:
        assert self.plan is not None, "a rule of the reference stage has no plan to look at"
        return self.plan

    def declares(self, section: str, name: str) -> bool:
        """The file has an entry of that name, sound or not."""
        return name in self.loaded.declared[section]

    def model(self, name: str) -> ModelPlan:
        return next(m for m in self.fleet.models if m.name == name)

    def tier(self, name: str) -> TierPlan:
        return next(t for t in self.fleet.tiers if t.name == name)

    def asked(self, pool: str) -> Pool:
        return self.environment.pools[pool]

    def roles(self) -> Iterator[Placed]:
        """Every role of every pool that runs one model."""
        models = {m.name: m for m in self.fleet.models}
        tiers = {t.name: t for t in self.fleet.tiers}
        for cell in self.fleet.cells:
            groups = {g.name: g for g in cell.node_groups}
            for pool in cell.pools:
                for role in pool.roles:
                    yield Placed(cell, pool, role, groups[role.node_group], models[pool.models[0]], tiers[pool.tier])
