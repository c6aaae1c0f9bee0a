"""What commands share that run the simulator."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from inferfab.plan.fleet import FleetPlan
    from inferfab.simulate.demand import Source


def environment_folder(env: str) -> Path:
    """Where the environment file is: traffic profiles and ``performance/`` are named from there."""
    from inferfab.cli.locate import locate

    return locate(env).parent


def planned_for(env: str, *, tcp: bool) -> "FleetPlan":
    """The plan of a sound environment.

    :param tcp: planned anew as if no machine had RDMA.
    """
    from inferfab.cli.fleet import plan_or_environment, sound_plan
    from inferfab.cli.locate import locate
    from inferfab.cli.output import Refused
    from inferfab.environment.loading import load
    from inferfab.plan.fleet import plan

    if not tcp:
        return plan_or_environment(env)
    if locate(env).suffix == ".json":
        raise Refused("--fabric tcp plans the fleet anew: name an environment, not a plan")
    sound_plan(env)
    environment = load(locate(env)).environment
    assert environment is not None
    pools = {name: pool.model_copy(update={"fabric": "tcp"}) for name, pool in environment.pools.items()}
    return plan(environment.model_copy(update={"pools": pools}))


def told(trace: Path | None, traffic: Path | None, scale: float) -> "Source | None":
    """What the command line says of traffic."""
    from inferfab.simulate.demand import Source

    if trace is not None and traffic is not None:
        raise typer.BadParameter("give one of --trace and --traffic", param_hint="--trace")
    if trace is None and traffic is None:
        if scale != 1:
            raise typer.BadParameter("scales --trace or --traffic, and there is neither", param_hint="--scale")
        return None
    return Source(trace=trace, profile=traffic, scale=scale)


@contextmanager
def refusing() -> Iterator[None]:
    """Errors of traffic, profiles, extras and simulator as refusals."""
    from inferfab.cli.output import Refused
    from inferfab.extras import ExtraMissing
    from inferfab.performance.find import UnreadablePerformance
    from inferfab.simulate.simulator import SimulatorFailed
    from inferfab.traffic.draw import Undrawable
    from inferfab.traffic.profile import UnreadableProfile
    from inferfab.traffic.rows import UnusableTrace

    try:
        yield
    except (
        ExtraMissing, SimulatorFailed, Undrawable, UnreadablePerformance, UnreadableProfile, UnusableTrace
    ) as error:  # fmt: skip
        raise Refused(str(error)) from error
    except KeyboardInterrupt:
        typer.echo("inferfab: interrupted", err=True)
        raise typer.Exit(130) from None
