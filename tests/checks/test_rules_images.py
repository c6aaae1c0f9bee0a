"""Rules about where images and charts come from."""

from collections.abc import Iterator

from rule_examples import Example, Fails, Passes, examples

from environments import AGGREGATED, GCP, base

AGG, GOOGLE = base(AGGREGATED), base(GCP)
ECR = "111122223333.dkr.ecr.us-east-1.amazonaws.com/mirror"


@examples("IF-IMG-001")
def test_one_place() -> Iterator[Example]:
    """A pod pulls from one place."""
    engine = AGG.set("engine.image_registry", "registry.example.com/nvidia")
    yield Passes(engine)
    yield Passes(AGG.set("images", {"mirror": "registry.example.com/all"}))
    both = engine.set("images", {"mirror": "registry.example.com/all"})
    yield Fails(both, "engine.image_registry", ("registry.example.com/all",), fix_says=("remove",))


@examples("IF-IMG-002")
def test_in_reach() -> Iterator[Example]:
    """Endpoints lead to ECR of their own region, and to Google's own registries."""
    closed = AGG.set("cells.east-a.network.egress", "none")
    yield Passes(closed.set("images", {"mirror": ECR}))
    yield Passes(AGG.set("images", {"mirror": "registry.example.com/all"}))
    west = {"mirror": ECR.replace("east-1", "west-2")}
    at = "images.mirror"
    yield Fails(closed.set("images", west), at, ("us-west-2", "us-east-1"), "warning", fix_says=("us-east-1",))
    other = {"mirror": "registry.example.com/all"}
    yield Fails(closed.set("images", other), at, ("not in ECR",), "warning")
    google = GOOGLE.set("cells.central-c.network.egress", "none")
    yield Passes(google.set("images", {"mirror": "us-docker.pkg.dev/project/mirror"}))
    yield Fails(google.set("images", other), at, ("Artifact Registry",), "warning")
