"""What the deploy role must be allowed to do, by the resource types that the stacks use."""

from functools import cache

from inferfab.catalog.facts import DATA, FactFile, read_facts


class DeployActionFile(FactFile):
    actions: dict[str, tuple[str, ...]]


@cache
def deploy_actions() -> dict[str, tuple[str, ...]]:
    """IAM actions by Terraform resource type."""
    return read_facts(DATA / "deploy_actions.yaml", DeployActionFile).actions
