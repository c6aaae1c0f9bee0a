"""Names of tiers. Expectations: Route 53 developer guide (complex configurations, values of health checks)."""

from collections.abc import Mapping
from typing import Any

import pytest
from pydantic import ValidationError

from inferfab.aws.capacity_health import CapacityAlarmSpec, CapacityHealth, CapacityHealthSpec
from inferfab.aws.hosted_names import HostedNames
from inferfab.aws.hosted_names_spec import HostedNamesSpec

from .samples_global import NLB_ZONES, REGIONS, TOPIC, cell, names
from .synth_global import address, only, resources, stack_json

Document = Mapping[str, Any]


def synth(spec: HostedNamesSpec) -> Document:
    return stack_json(lambda stack: HostedNames(stack, "names", spec))


def records(document: Document) -> dict[tuple[str, str | None], dict[str, Any]]:
    """Records by name and set identifier."""
    return {(r["name"], r.get("set_identifier")): r for r in resources(document, "aws_route53_record").values()}


def check(document: Document, path: str) -> str:
    """Reference to the id of a health check."""
    return f"${{{address(resources(document, 'aws_route53_health_check')[path], 'aws_route53_health_check')}.id}}"


@pytest.fixture(scope="module")
def spilling() -> Document:
    return synth(names("any"))


@pytest.fixture(scope="module")
def staying() -> Document:
    return synth(names("when_down"))


def test_a_region_has_one_latency_record(staying: Document) -> None:
    """Route 53 takes one latency record a region under a name, however many cells the region has."""
    under = {key: r for key, r in records(staying).items() if key[0] == "when-down.llm.example.com"}
    assert {key[1]: r["latency_routing_policy"] for key, r in under.items()} == {
        "us-east-1": {"region": "us-east-1"},
        "us-west-2": {"region": "us-west-2"},
    }
    east = under["when-down.llm.example.com", "us-east-1"]
    assert east["alias"]["name"] == "us-east-1.when-down.llm.example.com"
    assert east["alias"]["evaluate_target_health"] is True


def test_a_regions_cells_share_by_weight(staying: Document) -> None:
    """Below the region's name: one weighted alias a cell, to its load balancer, named by the cell."""
    found = records(staying)
    for name, weight in {"use1-a": 40, "use1-b": 25}.items():
        record = found["us-east-1.when-down.llm.example.com", name]
        assert record["type"] == "A"
        assert record["weighted_routing_policy"] == {"weight": weight}
        assert record["alias"] == {
            "name": f"prod-{name}-0123456789abcdef.elb.us-east-1.amazonaws.com",
            "zone_id": NLB_ZONES["us-east-1"],
            "evaluate_target_health": True,
        }
    assert ("us-west-2.when-down.llm.example.com", "usw2-c") in found


def test_alias_records_have_no_ttl(spilling: Document) -> None:
    """An alias has its target's time to live; Terraform refuses ``ttl`` beside ``alias``."""
    assert all("ttl" not in record and "records" not in record for record in records(spilling).values())


def test_an_alias_waits_for_what_it_points_to(spilling: Document) -> None:
    """Route 53 refuses an alias to a record that does not exist yet."""
    by_path = resources(spilling, "aws_route53_record")
    cells = [by_path[f"names/any/free/{name}"] for name in ("use1-a", "use1-b")]
    region = by_path["names/any/free/us-east-1"]
    assert region["depends_on"] == [address(c, "aws_route53_record") for c in cells]
    regions = [by_path[f"names/any/free/{name}"] for name in ("us-east-1", "us-west-2")]
    assert by_path["names/any/primary"]["depends_on"] == [address(r, "aws_route53_record") for r in regions]


def test_a_gateway_is_checked_under_its_cells_own_name(staying: Document) -> None:
    """Checked under a tier's name, results would be unpredictable, says the guide."""
    found = resources(staying, "aws_route53_health_check")
    assert set(found) == {f"names/{name}/up" for name in REGIONS}
    up = found["names/use1-a/up"]
    assert up["type"] == "HTTPS"
    assert (up["fqdn"], up["port"], up["resource_path"]) == ("use1-a.llm.example.com", 443, "/health")
    assert up["enable_sni"] is True
    assert (up["request_interval"], up["failure_threshold"]) == (30, 3)
    own = records(staying)["use1-a.llm.example.com", None]
    assert own["alias"]["name"] == "prod-use1-a-0123456789abcdef.elb.us-east-1.amazonaws.com"
    assert up["depends_on"] == [address(own, "aws_route53_record")]


def test_when_down_looks_only_at_whether_a_cell_is_up(staying: Document) -> None:
    """No capacity: chat stays near unless its cells are down."""
    record = records(staying)["us-east-1.when-down.llm.example.com", "use1-a"]
    assert record["health_check_id"] == check(staying, "names/use1-a/up")
    assert "aws_cloudwatch_metric_alarm" not in staying["resource"]


def test_never_stays_in_its_region_whatever_the_health() -> None:
    """Evaluate Target Health is No on the region's record: Route 53 does not back out of that branch."""
    document = synth(names("never"))
    found = records(document)
    assert found["never.llm.example.com", "us-east-1"]["alias"]["evaluate_target_health"] is False
    inside = found["us-east-1.never.llm.example.com", "use1-a"]
    assert inside["health_check_id"] == check(document, "names/use1-a/up")
    assert inside["alias"]["evaluate_target_health"] is True


def test_any_prefers_cells_with_room_and_falls_back_to_cells_that_are_up(spilling: Document) -> None:
    """A failover pair: with every cell full, a cell that is down must still not get traffic."""
    found = records(spilling)
    host = "any.llm.example.com"
    for kind, role in {"free": "PRIMARY", "up": "SECONDARY"}.items():
        record = found[host, kind]
        assert record["failover_routing_policy"] == {"type": role}
        assert record["alias"]["name"] == f"{kind}.{host}"
        assert record["alias"]["evaluate_target_health"] is True
    free = found[f"us-east-1.free.{host}", "use1-a"]
    up = found[f"us-east-1.up.{host}", "use1-a"]
    assert free["health_check_id"] == check(spilling, "names/any/use1-a-capacity/both")
    assert up["health_check_id"] == check(spilling, "names/use1-a/up")


def test_room_and_health_are_both_needed(spilling: Document) -> None:
    """CALCULATED over the gateway's and the capacity check, threshold 2; neither is calculated itself."""
    both = resources(spilling, "aws_route53_health_check")["names/any/use1-a-capacity/both"]
    assert both["type"] == "CALCULATED"
    assert both["child_health_threshold"] == 2
    assert both["child_healthchecks"] == [
        check(spilling, "names/use1-a/up"),
        check(spilling, "names/any/use1-a-capacity/check"),
    ]


def test_an_alarm_lives_where_its_cell_publishes(spilling: Document) -> None:
    """The alarm's region and the one that the health check names are the cell's, not the stack's."""
    alarm = resources(spilling, "aws_cloudwatch_metric_alarm")["names/any/usw2-c-capacity/alarm"]
    reader = resources(spilling, "aws_route53_health_check")["names/any/usw2-c-capacity/check"]
    assert alarm["region"] == reader["cloudwatch_alarm_region"] == "us-west-2"
    assert reader["cloudwatch_alarm_name"] == f"${{{address(alarm, 'aws_cloudwatch_metric_alarm')}.alarm_name}}"


def test_the_alarm_is_one_that_route_53_can_read(spilling: Document) -> None:
    """Standard resolution and a plain statistic; every period counts, so "m of n" cannot be read two ways."""
    alarm = resources(spilling, "aws_cloudwatch_metric_alarm")["names/any/use1-a-capacity/alarm"]
    assert (alarm["namespace"], alarm["metric_name"]) == ("Inferfab", "FreeCapacityPercent")
    assert alarm["dimensions"] == {"cell": "use1-a", "tier": "any"}
    assert (alarm["statistic"], alarm["period"]) == ("Average", 60)
    assert (alarm["comparison_operator"], alarm["threshold"]) == ("LessThanThreshold", 10)
    assert alarm["evaluation_periods"] == alarm["datapoints_to_alarm"] == 3


def test_silence_moves_nothing() -> None:
    """Without numbers the check keeps its last answer, and somebody hears of it."""
    spec = CapacityHealthSpec(name="a", cell="a", tier="t", region="us-east-1", alerts_topic_arn=TOPIC)
    document = stack_json(lambda stack: CapacityHealth(stack, "capacity", spec))
    alarm = only(document, "aws_cloudwatch_metric_alarm")
    assert alarm["treat_missing_data"] == "missing"
    assert alarm["insufficient_data_actions"] == alarm["alarm_actions"] == [TOPIC]
    assert only(document, "aws_route53_health_check")["insufficient_data_health_status"] == "LastKnownStatus"


def test_a_changed_alarm_refreshes_its_check() -> None:
    """Route 53 copies an alarm's settings once; ``triggers`` has it do so again."""

    def triggers(percent: float) -> Any:
        alarm = CapacityAlarmSpec(full_below_percent=percent)
        spec = CapacityHealthSpec(name="a", cell="a", tier="t", region="us-east-1", alarm=alarm)
        document = stack_json(lambda stack: CapacityHealth(stack, "capacity", spec))
        return only(document, "aws_route53_health_check")["triggers"]

    assert triggers(10) != triggers(20)
    assert set(triggers(10)) == {"namespace", "metric", "full_below_percent", "full_for_minutes"}


def test_a_private_gateway_has_no_check_from_outside() -> None:
    """Route 53's checkers are in the internet: target health and capacity decide."""
    document = synth(names("any", public=False))
    found = records(document)
    up = found["us-east-1.up.any.llm.example.com", "use1-a"]
    free = found["us-east-1.free.any.llm.example.com", "use1-a"]
    assert "health_check_id" not in up
    assert up["alias"]["evaluate_target_health"] is True
    assert free["health_check_id"] == check(document, "names/any/use1-a-capacity/check")
    types = {c["type"] for c in resources(document, "aws_route53_health_check").values()}
    assert types == {"CLOUDWATCH_METRIC"}


def test_geoproximity_names_the_region() -> None:
    """geoproximity_routing_policy{aws_region} instead of latency."""
    record = records(synth(names("when_down", policy="geoproximity")))["when-down.llm.example.com", "us-west-2"]
    assert record["geoproximity_routing_policy"] == {"aws_region": "us-west-2"}
    assert "latency_routing_policy" not in record


def test_weighted_names_have_one_level() -> None:
    """All cells under the name itself; ``never`` keeps the shares whatever the health."""
    document = synth(names("when_down", "never", policy="weighted"))
    found = records(document)
    moving = found["when-down.llm.example.com", "usw2-c"]
    fixed = found["never.llm.example.com", "usw2-c"]
    assert moving["weighted_routing_policy"] == fixed["weighted_routing_policy"] == {"weight": 100}
    assert moving["health_check_id"] == check(document, "names/usw2-c/up")
    assert "health_check_id" not in fixed
    assert fixed["alias"]["evaluate_target_health"] is False


def test_the_zone_is_looked_up() -> None:
    """The hosted zone exists already; nothing here makes one."""
    document = synth(names("when_down"))
    assert "aws_route53_zone" not in document["resource"]
    (zone,) = document["data"]["aws_route53_zone"].values()
    assert (zone["name"], zone["private_zone"]) == ("llm.example.com", False)


def test_all_mistakes_are_reported_at_once() -> None:
    """A cell twice, a name outside the zone, a tier on a cell that is not there."""
    good = names("when_down").model_dump()
    bad = {**good, "zone": "example.org", "cells": (cell("use1-a"), cell("use1-a"), cell("use1-b"))}
    with pytest.raises(ValidationError) as caught:
        HostedNamesSpec.model_validate(bad)
    text = str(caught.value)
    assert "cells listed more than once: use1-a" in text
    assert "when-down.llm.example.com is not in the zone example.org" in text
    assert "tier when-down is served by usw2-c, which is not among the cells" in text
