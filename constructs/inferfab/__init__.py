"""inferfab: one typed environment file in, one checked LLM-inference fleet out.

The public surface is small on purpose::

    from inferfab import load, plan, check

    loaded = load("environments/prod.yaml")   # Environment + line numbers, or findings
    fleet = plan(loaded.environment)          # FleetPlan: frozen, JSON in and out
    findings = check(loaded).findings         # every cross-layer rule

Importing this package never loads cdktf, boto3 or a provider.
"""

from inferfab import _interrupt  # noqa: F401 - first: it is for the time of the other imports
from inferfab.checks.check import Checked, check
from inferfab.environment.environment import Environment
from inferfab.environment.loading import Loaded, load, load_text
from inferfab.findings import Finding
from inferfab.plan.difference import FleetDifference, difference
from inferfab.plan.fleet import FleetPlan, Unplannable, UnreadablePlan, plan, read_plan

__all__ = [
    "Checked",
    "Environment",
    "Finding",
    "FleetDifference",
    "FleetPlan",
    "Loaded",
    "Unplannable",
    "UnreadablePlan",
    "check",
    "difference",
    "load",
    "load_text",
    "plan",
    "read_plan",
]
