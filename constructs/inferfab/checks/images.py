"""Where images come from, against where they can be reached."""

from collections.abc import Iterator

from inferfab.checks.facts import Facts
from inferfab.checks.registry import Problem, rule
from inferfab.environment.cells import NewNetwork
from inferfab.mirror.ecr import ecr_of

_GOOGLE = (".pkg.dev", "gcr.io")


@rule(
    "IF-IMG-001",
    "two places for the same images",
    stage="reference",
    joins=("environment", "cluster"),
    why="`images.mirror` names the place of every image by its whole name, `engine.image_registry` that of some by the "
    "last part of their names: a pod cannot pull from both.",
    do="keep one: `images.mirror` for everything, `engine.image_registry` for what serves alone.",
    source="inferfab's environment format",
)
def one_place_for_images(facts: Facts) -> Iterator[Problem]:
    environment = facts.environment
    if environment.images.mirror is not None and environment.engine.image_registry is not None:
        yield Problem(
            ("engine", "image_registry"),
            f"what serves is pulled from `{environment.images.mirror}` already, as `images.mirror` says",
            "remove it",
        )


@rule(
    "IF-IMG-002",
    "a mirror out of reach",
    severity="warning",
    stage="reference",
    joins=("environment", "cloud", "cluster"),
    why="without a way out, nodes reach a registry only through endpoints of their own region.",
    do="keep the mirror in ECR of the cell's region (on Google Cloud in Artifact Registry), or use `egress: nat`.",
    source="Amazon ECR interface endpoints (one region's registry each); Google Cloud: Private Google Access",
)
def mirror_is_reached(facts: Facts) -> Iterator[Problem]:
    mirror = facts.environment.images.mirror
    if mirror is None:
        return
    host = mirror.partition("/")[0]
    for name, cell in facts.environment.cells.items():
        if not isinstance(cell.network, NewNetwork) or cell.network.egress != "none":
            continue
        ecr = ecr_of(mirror)
        if cell.cloud == "aws" and (ecr is None or ecr.region != cell.region):
            where = f"in {ecr.region}" if ecr else "not in ECR"
            fix = f"mirror into ECR in {cell.region}, unless your network reaches {host}"
        elif cell.cloud == "gcp" and not host.endswith(_GOOGLE):
            where, fix = (
                "not in Artifact Registry",
                f"mirror into Artifact Registry, unless your network reaches {host}",
            )
        else:
            continue
        yield Problem(("images", "mirror"), f"`{name}` in {cell.region} has no way out, and the mirror is {where}", fix)
