"""What is deployed together, in order. Each file is one stack, and none of them decides anything.

In a checkout this is the folder `stacks/`, run by `python -m stacks` (cdktf.json); in the wheel it is
`inferfab.stacks`. Relative imports only, so that it is the same code under both names. The stacks are
imported where they are built: Python imports this module before `__main__.py` can turn a missing Terraform engine
into a message.
"""

from typing import TYPE_CHECKING

from inferfab.plan.fleet import FleetPlan

if TYPE_CHECKING:
    from inferfab.terraform import App

__all__ = ["build", "build_bootstrap"]


def build(app: "App", fleet: FleetPlan) -> tuple[str, ...]:
    """Add every stack of the fleet to ``app``; their names in the order in which they are applied."""
    from .cluster_platform import PlatformStack
    from .foundation import FoundationStack
    from .globals import GlobalStack
    from .google_foundation import GoogleFoundationStack
    from .google_platform import GooglePlatformStack
    from .google_regional import GoogleRegionalStack
    from .google_serving import GoogleServingStack
    from .regional import RegionalStack
    from .serving import ServingStack

    names: list[str] = []
    cells = [cell for cell in fleet.cells if cell.cloud == "aws"]
    google = [cell for cell in fleet.cells if cell.cloud == "gcp"]
    names += [RegionalStack(app, fleet, region).node.id for region in fleet.aws_regions]
    names += [GoogleRegionalStack(app, fleet, region).node.id for region in sorted({cell.region for cell in google})]
    names += [FoundationStack(app, fleet, cell).node.id for cell in cells]
    names += [GoogleFoundationStack(app, fleet, cell).node.id for cell in google]
    names += [PlatformStack(app, fleet, cell).node.id for cell in cells]
    names += [GooglePlatformStack(app, fleet, cell).node.id for cell in google]
    names += [ServingStack(app, fleet, cell).node.id for cell in cells]
    names += [GoogleServingStack(app, fleet, cell).node.id for cell in google]
    # Route 53 is the one authority for names, and it needs an AWS account.
    if cells:
        names.append(GlobalStack(app, fleet).node.id)
    return tuple(names)


def build_bootstrap(app: "App", fleet: FleetPlan, *, in_bucket: bool) -> tuple[str, ...]:
    """Add the stack that makes the state bucket; it is applied once, before all others."""
    from .bootstrap import BootstrapStack

    return (BootstrapStack(app, fleet, in_bucket=in_bucket).node.id,)
