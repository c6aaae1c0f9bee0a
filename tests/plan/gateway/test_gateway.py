"""The entrance of a cell, by hand."""

import json
import re
from functools import cache
from pathlib import Path

import pytest
import yaml

from inferfab.checks.check import check
from inferfab.environment.loading import load, load_text
from inferfab.plan.difference import difference
from inferfab.plan.fleet import CellPlan, FleetPlan, plan, read_plan
from inferfab.plan.serving.admission import queue_limit
from inferfab.render.gateway import gateway_files

ENVIRONMENTS = Path(__file__).resolve().parents[3] / "environments"
SHIPPED = ("dev", "staging", "prod", "prod-gcp", "prod-global", "prod-hybrid")


@cache
def fleet(name: str) -> FleetPlan:
    environment = load(ENVIRONMENTS / f"{name}.yaml").environment
    assert environment is not None
    return plan(environment)


def changed(name: str, before: str, after: str) -> FleetPlan:
    text = (ENVIRONMENTS / f"{name}.yaml").read_text(encoding="utf-8")
    assert re.search(before, text), before
    environment = load_text(re.sub(before, after, text, count=1)).environment
    assert environment is not None
    return plan(environment)


def objects(cell: CellPlan, kind: str) -> dict[str, dict]:  # type: ignore[type-arg]
    found = [d for text in gateway_files(cell).values() for d in yaml.safe_load_all(text) if d]
    return {d["metadata"]["name"]: d["spec"] for d in found if d["kind"] == kind}


def test_a_request_may_take_as_long_as_the_longest_answer_at_the_promised_pace() -> None:
    """Priority: 60 s of waiting, 32,768 tokens at 40 ms: 1,370.7 s, in whole minutes 1,380. Batch promises nothing:
    60 s and 16,384 tokens at 100 ms are 1,698.4 s, in whole minutes 1,740."""
    seconds = {tier.tier: tier.timeout_seconds for tier in fleet("prod").cells[0].gateway.tiers}
    assert (seconds["priority"], seconds["batch"]) == (1380, 1740)


def test_the_body_limit_holds_the_longest_prompt() -> None:
    """32,768 tokens of 8 bytes are a quarter of a MiB, rounded up to 1, and 1 for the rest."""
    assert {cell.gateway.body_limit_bytes for cell in fleet("prod").cells} == {2 * 1024 * 1024}


def test_the_last_tier_has_the_shortest_queue() -> None:
    assert [queue_limit(None, rank, 256) for rank in (1, 2, 3, 4)] == [1024, 512, 256, 256]


def test_the_plans_own_queue_reaches_the_routers_file() -> None:
    found = changed("prod", r"(?m)^gateway:", "gateway:\n  tiers: {batch: {queue_per_worker: 7}}")
    graphs = [g for g in found.cells[0].serving.graphs if g.tier == "batch" and g.router_policy]
    assert graphs and {g.router_policy.request_queue_limit_per_worker for g in graphs if g.router_policy} == {7}


def test_a_share_is_a_part_of_what_the_cells_workers_do() -> None:
    """60 % of requests a second (lower estimate) x busy share x (prompt + answer) x 60, over the tier's pools."""
    cell = fleet("prod").cells[0]
    pools = [p for p in cell.pools if p.tier == "priority"]
    whole = sum(
        p.requests_per_second.low * p.workload.utilization * (p.workload.prompt_tokens + p.workload.output_tokens) * 60
        for p in pools
    )
    tenant = next(t for t in cell.gateway.tenants if t.name == "assistant")
    part = tenant.tier("priority")
    assert part is not None and part.tokens_per_minute is not None
    assert part.tokens_per_minute == pytest.approx(0.6 * whole, abs=1)


@pytest.mark.parametrize("name", SHIPPED)
def test_every_model_of_every_tier_is_reached_under_its_tiers_name(name: str) -> None:
    """The pods of a route are those of the cell's entry, and a router over tiers gets its keys."""
    for cell in fleet(name).cells:
        entries = {(e.tier, e.model): e for e in cell.serving.entries}
        routed = {(t.tier, r.model): r for t in cell.gateway.tiers for r in t.routes}
        assert set(entries) == set(routed)
        hosts = {route.tier: route.hostname for route in fleet(name).routing.routes if route.hostname}
        for tier in cell.gateway.tiers:
            assert tier.hostname == hosts.get(tier.tier, f"{tier.tier}.{fleet(name).ownership.name}.internal")
        services = objects(cell, "Service")
        for key, route in routed.items():
            assert (route.selects, route.port, route.target) == (
                entries[key].selects, entries[key].port, entries[key].target,
            )  # fmt: skip
        for spec in objects(cell, "AIGatewayRoute").values():
            for rule in spec["rules"]:
                for backend in rule["backendRefs"]:
                    tag = json.loads(backend["bodyMutation"]["set"][0]["value"])
                    (tier_name,) = [t.tier for t in cell.gateway.tiers if [t.hostname] == spec["hostnames"]]
                    route = routed[tier_name, rule["name"]]
                    wanted = services[backend["name"]]["selector"]
                    assert route.selects.items() <= wanted.items()
                    if route.target:
                        keys = (route.target.ttft_ms, route.target.itl_ms)
                        assert (tag["router"]["ttft_target"], tag["router"]["itl_target"]) == keys
                    else:
                        assert tag == {}


def test_without_a_domain_tiers_have_names_all_the_same() -> None:
    assert fleet("dev").routing.domain is None
    gateway = fleet("dev").cells[0].gateway
    assert [t.hostname for t in gateway.tiers] == ["standard.dev.internal"]
    assert gateway.hostname == "use1-a.dev.internal"
    assert gateway.tls.kind == "self_signed"


def test_racks_prefer_their_own_then_the_adjacent_and_no_other_cell() -> None:
    """Four racks in a row: the second's neighbours are the first and the third, then the fourth."""
    tree = yaml.safe_load((ENVIRONMENTS / "prod-hybrid.yaml").read_text(encoding="utf-8"))
    racks = tree["cells"]["dc1"]["racks"]["racks"]
    for n in (3, 4):
        servers = {}
        for k, (server, spec) in enumerate(racks["rack-2"]["servers"].items()):
            ports = [f"Ethernet{(n - 3) * 64 + 128 + k * 16 + p}" for p in (0, 4, 8, 12)]
            cables = [{**cable, "ports": list(ports)} for cable in spec["cables"]]
            servers[server.replace("r2", f"r{n}")] = {"cables": cables}
        racks[f"rack-{n}"] = {"servers": servers}
    environment = load_text(yaml.safe_dump(tree, sort_keys=False)).environment
    assert environment is not None
    cell = plan(environment).cells[0]
    order = {group.rack: group.spills_to for group in cell.gateway.groups}
    assert order["rack-1"] == ("rack-2", "rack-3", "rack-4")
    assert order["rack-2"] == ("rack-1", "rack-3", "rack-4")
    services, routes = objects(cell, "Service"), objects(cell, "AIGatewayRoute")
    for rack, neighbours in order.items():
        (rule,) = routes[f"priority-{rack}"]["rules"]
        found = sorted(rule["backendRefs"], key=lambda b: b["priority"])
        zones = [services[b["name"]]["selector"].get("topology.kubernetes.io/zone") for b in found]
        # At last pods of the cell whose rack is not known.
        assert zones == [rack, *neighbours, None]
        assert [b["priority"] for b in found] == [0, 1, 2, 3, 4]
    for name, spec in objects(cell, "EnvoyProxy").items():
        pod = spec["provider"]["kubernetes"]["envoyDeployment"]["pod"]
        assert pod["nodeSelector"] == {"inferfab/rack": name.removeprefix("gateway-")}


def test_budgets_of_a_tenant_are_one_over_all_racks() -> None:
    """Each rack has a route; one policy with shared rules names them all."""
    found = changed("prod-hybrid", r"(?m)^      priority:$", "      priority: {tokens_per_minute: 500000}")
    (policy,) = objects(found.cells[0], "BackendTrafficPolicy").values()
    assert [t["name"] for t in policy["targetRefs"]] == ["priority-rack-1", "priority-rack-2"]
    (rule,) = policy["rateLimit"]["global"]["rules"]
    assert rule["shared"] is True and rule["limit"] == {"requests": 500000, "unit": "Minute"}
    assert rule["cost"]["request"] == {"from": "Number", "number": 0}


@pytest.mark.parametrize("name", SHIPPED)
def test_a_plan_of_an_earlier_release_reads_and_renders_no_gateway(name: str) -> None:
    raw = json.loads(fleet(name).to_json())
    old = ("replicas", "public", "namespace", "service", "port", "health_port", "health_path")
    for cell in raw["cells"]:
        cell["gateway"] = {key: cell["gateway"][key] for key in old}
    assert all(gateway_files(cell) == {} for cell in read_plan(json.dumps(raw)).cells)


@pytest.mark.parametrize("name", SHIPPED)
def test_connections_are_no_fewer_than_single_flows_need(name: str) -> None:
    """plan/locality counts them; circuit breakers and policies read the tier's."""
    for cell in fleet(name).cells:
        assert cell.locality is not None
        policies = objects(cell, "BackendTrafficPolicy")
        for tier in cell.gateway.tiers:
            allowed = policies[f"tier-{tier.tier}"]["circuitBreaker"]["maxConnections"]
            assert allowed == tier.connections >= cell.locality.flows.connections


def test_a_cell_without_gateways_has_no_release() -> None:
    found = changed("dev", r"(?m)^    system_nodes:", "    gateways: {replicas: 0}\n    system_nodes:")
    assert gateway_files(found.cells[0]) == {}


def test_the_example_in_the_documentation_is_sound() -> None:
    """docs/gateway.md's two sections in the place of prod's own: no error, and what it says is planned."""
    page = (ENVIRONMENTS.parent / "docs" / "gateway.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    text = (ENVIRONMENTS / "prod.yaml").read_text(encoding="utf-8")
    checked = check(load_text(text[: text.index("\ngateway:")] + "\n" + example))
    assert not [f for f in checked.findings if f.severity == "error"] and checked.plan is not None
    batch = next(t for t in checked.plan.cells[0].gateway.tiers if t.tier == "batch")
    assert (batch.timeout_seconds, batch.queue_per_worker, batch.retry_after_seconds) == (3600, 64, 120)


def test_a_difference_names_what_changed_at_the_gateways() -> None:
    """A tenant that gets another share, and a tier with another timeout."""
    after = changed("prod", r"priority: \{share_percent: 60\}", "priority: {share_percent: 30}")
    found = {(c.subject, c.what) for c in difference(fleet("prod"), after).changes}
    assert found == {(f"gateways of {c.name}", "tenant assistant in priority") for c in after.cells}


def test_behind_a_router_over_tiers_the_gateways_refuse() -> None:
    """Priority of prod: 8 decode workers at most, each with 256 places and a queue of 4 x 256: 10,240. Its routers have
    no limit, for Dynamo would tell of it as 400. Three instances: two have to hold it."""
    found = changed("prod", r"(?m)^    zone: us-east-1a$", "    zone: us-east-1a\n    gateways: {replicas: 3}")
    cell = found.cells[0]
    policies = {g.route: g.router_policy for g in cell.serving.graphs if g.router_policy}
    assert policies["chat-priority-decode"].request_queue_limit_per_worker is None
    assert policies["documents"].request_queue_limit_per_worker == 512
    (tier,) = [t for t in cell.gateway.tiers if t.tier == "priority"]
    assert tier.parallel_requests == 10_240 // 2


def test_frontends_of_a_router_over_tiers_stand_in_no_rack() -> None:
    """They are on system nodes, whose zone is the cloud's: a rack's selector would find none of them."""
    tree = yaml.safe_load((ENVIRONMENTS / "prod-hybrid.yaml").read_text(encoding="utf-8"))
    tree["tiers"]["standard"] = {"workload": {"prompt_tokens": 1500, "output_tokens": 300}}
    chat = tree["pools"]["chat"]
    for part in ("prefill", "decode"):
        chat[part]["replicas"] = {"desired": 4}
    tree["pools"]["slow"] = json.loads(json.dumps(chat)) | {"tier": "standard"}
    tree["cells"]["dc1"]["pools"]["slow"] = None
    environment = load_text(yaml.safe_dump(tree, sort_keys=False)).environment
    assert environment is not None
    cell = plan(environment).cells[0]
    assert all(route.target for tier in cell.gateway.tiers for route in tier.routes)
    services = objects(cell, "Service")
    for spec in objects(cell, "AIGatewayRoute").values():
        (backend,) = spec["rules"][0]["backendRefs"]
        assert "priority" not in backend
        assert "topology.kubernetes.io/zone" not in services[backend["name"]]["selector"]
