"""What two stacks must agree about: each side is read from the Terraform JSON, not from the plan."""

from collections.abc import Iterator, Mapping
from typing import Any

import pytest
import yaml
from synthesized import ALL, charts_of, every, fleet, stacks


def accounts_in(values: Any) -> Iterator[str]:
    """Names of the service accounts that a chart's values ask for."""
    if isinstance(values, Mapping):
        account = values.get("serviceAccount")
        if isinstance(account, Mapping) and "name" in account:
            yield account["name"]
        for value in values.values():
            yield from accounts_in(value)


@pytest.mark.parametrize("name", ALL)
def test_roles_are_for_service_accounts_that_the_charts_make(name: str) -> None:
    """A Pod Identity association with another name gives its role to nobody, and no error says so."""
    made = {
        (release["namespace"], account)
        for _, release in every(stacks(name), "helm_release")
        for text in release.get("values", ())
        for account in accounts_in(yaml.safe_load(text))
    }
    for _, text in charts_of(fleet(name)):
        for found in yaml.safe_load_all(text):
            if found and found["kind"] == "ServiceAccount":
                made.add((found["metadata"]["namespace"], found["metadata"]["name"]))
    bound = {
        (association["namespace"], association["service_account"])
        for path, association in every(stacks(name), "aws_eks_pod_identity_association")
        if path.split("/")[1] == "controllers"
    }
    assert {account for _, account in bound} >= {"cluster-autoscaler", "aws-load-balancer-controller"}
    assert bound <= made


def test_shares_and_ranks_become_whole_numbers() -> None:
    """prod.yaml's traffic shares of 0.4, 0.25 and 0.35; batch has one cell. A better tier comes first."""
    plan = fleet("prod")
    assert {route.tier: [record.weight for record in route.cells] for route in plan.routing.routes} == {
        "priority": [40, 25, 35],
        "standard": [40, 25, 35],
        "batch": [100],
    }
    (classes, *_) = [
        {found["metadata"]["name"]: found["value"] for found in yaml.safe_load_all(text) if found}
        for path, text in charts_of(plan)
        if path.endswith("priority_classes.yaml") and "use1-a" in path
    ]
    values = list(classes.values())
    assert len(values) == 3 and values == sorted(values, reverse=True) and len(set(values)) == 3


@pytest.mark.parametrize("name", ("staging", "prod", "prod-hybrid"))
def test_whatever_an_answer_passes_through_waits_for_it(name: str) -> None:
    """Load balancer, autoscaler, proxies and pods: none lets go before the longest request of the cell's tiers ends."""
    plan = fleet(name)
    longest = max(tier.timeout_seconds for cell in plan.cells for tier in cell.gateway.tiers)
    targets = [body for _, body in every(stacks(name), "aws_lb_target_group")]
    assert len(targets) == len(plan.cells)
    waits = [int(body["deregistration_delay"]) for body in targets]
    waits += [
        yaml.safe_load(text)["extraArgs"]["max-graceful-termination-sec"]
        for _, release in every(stacks(name), "helm_release")
        if release["name"] == "cluster-autoscaler"
        for text in release["values"]
    ]
    assert len(waits) == 2 * len(plan.cells)
    pods = []
    for _, text in charts_of(plan):
        for body in yaml.safe_load_all(text):
            if body and body["kind"] == "EnvoyProxy":
                waits.append(int(body["spec"]["shutdown"]["drainTimeout"].rstrip("s")))
            if body and body["kind"] == "DynamoGraphDeployment":
                parts = [part for part in body["spec"]["components"] if part.get("type") != "planner"]
                pods += [part["podTemplate"]["spec"].get("terminationGracePeriodSeconds") for part in parts]
            if body and body["kind"] == "Deployment" and "inferfab/lane" in str(body):
                pods.append(body["spec"]["template"]["spec"].get("terminationGracePeriodSeconds"))
    assert min(waits) >= longest
    assert pods and all(seconds is not None and seconds >= longest + 60 for seconds in pods)
