"""Our own stacks, as far as they can be planned here: what a review counts in a plan is what the FleetPlan decided.

No provider is on the machine. A real terraform plans each stack with a ``terraform_data`` for each resource that holds
its arguments; the plan's addresses, types and values are then put back. References, unknown values and the shape of the
plan are Terraform's own; defaults that a provider would fill in are missing.
"""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inferfab import check
from inferfab.cli.main import main
from inferfab.plan.fleet import FleetPlan
from inferfab.review import Asked, Report, review
from review.plans import ROOT, gpus, three
from review.test_real_plans import run_terraform

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (shutil.which("terraform") or shutil.which("tofu")), reason="neither terraform nor tofu is here"
    ),
]
_ADDRESS = re.compile(r"\b(data\.)?((?:aws|helm)_[a-z0-9_]+)\.([A-Za-z0-9_-]+)")
_STAND_IN = re.compile(r"^terraform_data\.((?:aws|helm)_[a-z0-9_]+)-(.+)$")


def stand_ins(document: dict[str, Any]) -> dict[str, Any]:
    """A ``terraform_data`` for each resource; what refers to another's attribute waits for that one's id."""

    def rewritten(value: Any) -> Any:
        if isinstance(value, dict):
            return {k: rewritten(v) for k, v in value.items()}
        if isinstance(value, list):
            return [rewritten(v) for v in value]
        if isinstance(value, str) and (found := _ADDRESS.search(value)) and "${" in value:
            return f"${{terraform_data.{found[1] or ''}{found[2]}-{found[3]}.id}}".replace("data.data.", "data.data-")
        return value

    made = {}
    for kind, prefix in (("resource", ""), ("data", "data-")):
        for type_, members in document.get(kind, {}).items():
            for name, body in members.items():
                own = {k: v for k, v in body.items() if k not in ("//", "depends_on", "lifecycle", "provider")}
                text = json.dumps(rewritten(own)).replace("terraform_data.data.", "terraform_data.data-")
                made[f"{prefix}{type_}-{name}"] = {"input": json.loads(text)}
    return {"resource": {"terraform_data": made}}


def put_back(raw: dict[str, Any], region: str) -> dict[str, Any]:
    """The plan with addresses, types and values of the resources that the stand-ins stood for."""
    changes, configured = [], []
    for one in raw["resource_changes"]:
        found = _STAND_IN.match(one["address"])
        if found is None:
            continue
        inner = one["change"]
        unknown = inner["after_unknown"].get("input", {})
        changes.append(
            {**one, "address": f"{found[1]}.{found[2]}", "type": found[1], "name": found[2],
             "change": {**inner, "after": inner["after"].get("input"), "after_unknown": unknown}}
        )  # fmt: skip
    for one in raw["configuration"]["root_module"]["resources"]:
        found = _STAND_IN.match(one["address"])
        references = one["expressions"].get("input", {}).get("references", [])
        if found is not None:
            names = [_STAND_IN.match(r.removesuffix(".id")) for r in references]
            configured.append(
                {"type": found[1], "name": found[2], "provider_config_key": "aws",
                 "expressions": {"all": {"references": [f"{n[1]}.{n[2]}" for n in names if n]}}}
            )  # fmt: skip
    provider = {"aws": {"name": "aws", "expressions": {"region": {"constant_value": region}}}}
    configuration = {"provider_config": provider, "root_module": {"resources": configured}}
    return {**raw, "resource_changes": changes, "configuration": configuration, "prior_state": {}, "planned_values": {}}


def planned(folder: Path, stack: str, out: Path) -> dict[str, Any]:
    document = json.loads((out / "stacks" / stack / "cdk.tf.json").read_text(encoding="utf-8"))
    here = folder / stack
    here.mkdir()
    (here / "cdk.tf.json").write_text(json.dumps(stand_ins(document)), encoding="utf-8")
    run_terraform(here, "init", "-input=false")
    run_terraform(here, "plan", "-input=false", "-out=tfplan")
    raw = json.loads(run_terraform(here, "show", "-json", "tfplan"))
    aws = document["provider"].get("aws") or [{}]
    return put_back(raw, aws[0].get("region", ""))


def synth(env: Path, out: Path, monkeypatch: pytest.MonkeyPatch) -> FleetPlan:
    monkeypatch.setattr("sys.argv", ["inferfab", "synth", str(env), "--out", str(out)])
    try:
        main()
    except SystemExit as stop:
        assert not stop.code
    fleet = check(env).plan
    assert fleet is not None
    return fleet


@pytest.fixture(scope="module")
def patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as made:
        yield made


@pytest.fixture(scope="module")
def first(
    tmp_path_factory: pytest.TempPathFactory, patch: pytest.MonkeyPatch
) -> tuple[FleetPlan, dict[str, Any], Report]:
    """prod's cell use1-a, planned from nothing."""
    folder = tmp_path_factory.mktemp("own")
    fleet = synth(ROOT / "environments" / "prod.yaml", folder / "out", patch)
    plan = planned(folder, "prod-use1-a-foundation", folder / "out")
    path = folder / "prod-use1-a-foundation.json"
    path.write_text(json.dumps(plan), encoding="utf-8")
    report = review(
        Asked(environments=[ROOT / "environments" / "prod.yaml"], base=str(ROOT / "environments"), plans=[path])
    )
    return fleet, plan, report.report


def test_the_plan_counts_what_the_fleet_plan_decided(first: tuple[FleetPlan, dict[str, Any], Report]) -> None:
    """By type, tier, role, capacity, region, and in dollars: two ways to the same numbers."""
    fleet, _, report = first
    cell = fleet.cells[0]
    (stack,) = report.stacks
    tiers = {p.name: p.tier for p in cell.pools}
    for axis, key in (
        ("type", lambda g: g.gpu),
        ("tier", lambda g: tiers[g.pool]),
        ("role", lambda g: g.role),
        ("region", lambda g: f"aws:{g.region}"),
        ("capacity", lambda g: g.capacity.kind.replace("_", " ")),
    ):
        wanted: dict[str, tuple[int, ...]] = {}
        for group in cell.node_groups:
            have = wanted.get(key(group), (0, 0, 0))
            wanted[key(group)] = tuple(
                a + b for a, b in zip(have, (group.gpus.min, group.gpus.desired, group.gpus.max), strict=True)
            )
        assert {line.name: three(line.after) for line in stack.gpus if line.axis == axis} == wanted, axis
    for size, money in (("desired", cell.cost.desired), ("max", cell.cost.maximum)):
        line = stack.cost(size)
        assert line is not None
        assert line.after.usd_per_month.low == pytest.approx(money.usd_per_month.low)
        assert line.after.usd_per_month.high == pytest.approx(money.usd_per_month.high)


def test_our_first_plan_destroys_and_opens_what_it_should(first: tuple[FleetPlan, dict[str, Any], Report]) -> None:
    """Nothing is destroyed; what opens is the public load balancer's door and the deploy role's cluster."""
    _, plan, report = first
    (stack,) = report.stacks
    assert stack.counts == {"create": len(plan["resource_changes"])} and stack.destroyed == ()
    assert {(o.subject.split(".")[0], o.what) for o in stack.opened} <= {
        ("aws_lb", "the load balancer faces the internet"),
        ("aws_eks_access_policy_association", "grants AmazonEKSClusterAdminPolicy"),  # the deploy role
        ("aws_vpc_security_group_ingress_rule", "lets in 0.0.0.0/0, tcp 443"),
    }
    assert not [u for u in stack.unseen if "machine type" in u.what or "does not count" in u.what]


def test_another_machine_and_size_in_the_next_plan(
    first: tuple[FleetPlan, dict[str, Any], Report], tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    """Nightly on g6e.24xlarge (4 GPUs too): the template changes in place, its nodes are replaced in turn."""
    _, before, _ = first
    text = (ROOT / "environments" / "prod.yaml").read_text(encoding="utf-8")
    env = tmp_path / "prod.yaml"
    env.write_text(text.replace("g6e.12xlarge", "g6e.24xlarge").replace("max: 32", "max: 16"), encoding="utf-8")
    fleet = synth(env, tmp_path / "out", patch)
    after = planned(tmp_path, "prod-use1-a-foundation", tmp_path / "out")
    old = {c["address"]: c["change"]["after"] for c in before["resource_changes"]}
    for one in after["resource_changes"]:
        was = old.get(one["address"])
        inner = one["change"]
        inner["actions"] = ["create"] if was is None else ["no-op"] if was == inner["after"] else ["update"]
        inner["before"] = was
        named = {"id": one["address"].split(".")[1].split("_")[0]}
        for side in filter(None, (was, inner["after"])):
            if one["type"] == "aws_launch_template":
                side.update(named)
            elif one["type"] == "aws_eks_node_group":
                side["launch_template"] = named
        # What was unknown at first is known by now: ids. A launch template's new version is not.
        rolled = one["type"] == "aws_eks_node_group" and "nightly" in one["address"]
        inner["after_unknown"] = {"launch_template": {"version": True}} if rolled else {}
    path = tmp_path / "prod-use1-a-foundation.json"
    path.write_text(json.dumps(after), encoding="utf-8")
    report = review(Asked(environments=[env], base=str(ROOT / "environments"), plans=[path])).report
    (stack,) = report.stacks
    assert three(gpus(stack, "type", "l40s").before) == (4, 8, 32)
    nightly = next(g for g in fleet.cells[0].node_groups if g.pool == "nightly")
    assert three(gpus(stack, "type", "l40s").after) == (nightly.gpus.min, nightly.gpus.desired, nightly.gpus.max)
    assert [(d.subject.split(".")[0], d.action) for d in stack.destroyed] == [("aws_eks_node_group", "roll nodes")]
    assert report.verdict.exit_code == 0 and report.verdict.word == "REVIEW"


def test_all_stacks_of_an_environment_in_one_review(
    first: tuple[FleetPlan, dict[str, Any], Report], tmp_path: Path, patch: pytest.MonkeyPatch
) -> None:
    """Every stack of prod, planned from nothing: together the FleetPlan's GPUs, each resource counted once."""
    fleet = synth(ROOT / "environments" / "prod.yaml", tmp_path / "out", patch)
    files, resources = [], 0
    for stack in sorted(p.name for p in (tmp_path / "out" / "stacks").iterdir()):
        plan = planned(tmp_path, stack, tmp_path / "out")
        resources += len(plan["resource_changes"])
        files.append(tmp_path / f"{stack}.json")
        files[-1].write_text(json.dumps(plan), encoding="utf-8")
    report = review(Asked(environments=[ROOT / "environments" / "prod.yaml"], plans=files)).report
    assert len(report.stacks) == len(files) >= 9
    assert sum(sum(s.counts.values()) for s in report.stacks) == resources
    totals = [three(gpus(s).after) for s in report.stacks if s.gpus]
    wanted = (fleet.gpus.min, fleet.gpus.desired, fleet.gpus.max)
    assert tuple(sum(t[n] or 0 for t in totals) for n in range(3)) == wanted  # type: ignore[misc]
    assert len(totals) == len(fleet.cells)
    assert not [u for s in report.stacks for u in s.unseen if "disagree" in u.what or "machine type" in u.what]
