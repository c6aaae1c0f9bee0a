"""Prices, regions and failure rates: what the files hold, and what they may never hold.

Expected figures are typed by hand from the sources, not read from the files under test.
"""

import importlib.util
import json
import math
from collections import Counter
from datetime import date
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab.catalog.facts import DATA, BadFactFile, FactFile, read_facts
from inferfab.catalog.prices import PriceFile, price_file, price_table
from inferfab.catalog.regions import Region, RegionFile, region_file, regions, round_trips_ms
from inferfab.catalog.reliability import ReliabilityFile, reliability

EARTH_RADIUS_KM = 6371.0
FIBRE_KM_PER_MS = 200.0
"""Light in glass travels about 200,000 km in a second."""
COORDINATE_SLACK_MS = 0.2
"""Two places to 0.1 degree each may be up to about 20 km closer than they look."""


def lowest_possible_rtt_ms(a: Region, b: Region) -> float:
    lat_a, lon_a, lat_b, lon_b = map(math.radians, (a.latitude, a.longitude, b.latitude, b.longitude))
    angle = math.acos(
        min(
            1.0,
            math.sin(lat_a) * math.sin(lat_b) + math.cos(lat_a) * math.cos(lat_b) * math.cos(lon_a - lon_b),
        )
    )
    return 2 * EARTH_RADIUS_KM * angle / FIBRE_KM_PER_MS


# Prices


@pytest.mark.parametrize(
    ("instance", "usd_per_hour"),
    [
        ("p4d.24xlarge", 21.957642),
        ("p5.48xlarge", 55.04),
        ("p5.4xlarge", 6.88),
        ("p5en.48xlarge", 63.296),
        ("p6-b200.48xlarge", 113.9328),
        ("p6-b300.48xlarge", 142.416),
        ("g6.xlarge", 0.8048),
        ("g6e.xlarge", 1.861),
        ("g7e.48xlarge", 33.14432),
    ],
)
def test_us_east_1_on_demand_prices_are_those_of_the_aws_price_list(instance: str, usd_per_hour: float) -> None:
    """The base region is priced to the cent as AWS listed it on 2026-07-20, whatever other lists say."""
    price = price_table()["aws", "us-east-1", instance, "on_demand"]
    assert price.usd_per_hour_low == price.usd_per_hour_high == usd_per_hour
    assert price.as_of.isoformat() == "2026-07-20"


@pytest.mark.parametrize(
    ("region", "instance", "usd_per_hour"),
    [
        ("us-west-2", "p5en.48xlarge", 63.296),
        ("ap-northeast-1", "p5en.48xlarge", 79.12),
        ("eu-north-1", "p5.48xlarge", 58.8928),
        ("us-west-2", "p6-b300.48xlarge", 142.416),
        ("eu-central-1", "g6e.12xlarge", 13.12002),
    ],
)
def test_other_aws_regions_have_prices_of_their_own(region: str, instance: str, usd_per_hour: float) -> None:
    """A region is priced by its own row, never by scaling another region's price."""
    price = price_table()["aws", region, instance, "on_demand"]
    assert price.usd_per_hour_low == price.usd_per_hour_high == usd_per_hour


@pytest.mark.parametrize(
    ("region", "instance", "low", "high"),
    [
        # Lowest and highest of three zones.
        ("us-east-2", "p5en.48xlarge", 16.24, 24.2039),
        # A Local Zone that belongs to the region sells this at 13.0338; it is no zone of the region.
        ("us-east-1", "p6-b200.48xlarge", 21.0148, 21.0148),
        # One zone at the on-demand price, published with four decimals as 8.2261.
        ("ap-northeast-1", "g5.12xlarge", 2.4678, 8.22609),
    ],
)
def test_a_spot_price_is_the_range_over_the_zones(region: str, instance: str, low: float, high: float) -> None:
    """Spot is a range because zones differ, and Local Zones do not widen it."""
    price = price_table()["aws", region, instance, "spot"]
    assert (price.usd_per_hour_low, price.usd_per_hour_high) == (low, high)


@pytest.mark.parametrize(
    ("region", "instance", "usd_per_hour"),
    [
        # Priced as a whole machine.
        ("us-central1", "a3-highgpu-8g", 88.49),
        ("us-central1", "g2-standard-48", 4.001665),
        # Host 12.266 plus 8 accelerators 74.49392; host 9.46006 plus 8 accelerators 82.75421.
        ("us-central1", "a3-ultragpu-8g", 86.75992),
        ("us-central1", "a3-megagpu-8g", 92.21427),
    ],
)
def test_google_cloud_prices_are_for_the_whole_machine(region: str, instance: str, usd_per_hour: float) -> None:
    """A host without its accelerators is not a price: both halves are in, or the row is absent."""
    price = price_table()["gcp", region, instance, "on_demand"]
    assert price.usd_per_hour_low == pytest.approx(usd_per_hour, abs=1e-4)


def test_two_lists_agree_on_a_google_cloud_machine_but_for_its_local_ssd() -> None:
    """A whole machine is host + accelerators + 6,000 GB of local SSD; nothing is counted twice."""
    whole = price_table()["gcp", "us-east4", "a3-highgpu-8g", "on_demand"].usd_per_hour_low
    host, accelerators, ssd_per_gb_month = 9.46006, 78.37241, 0.088
    assert whole == pytest.approx(host + accelerators + 6000 * ssd_per_gb_month / 730, abs=0.001)


def test_a_machine_is_priced_only_where_it_is_sold() -> None:
    """Google's list prices every machine in every region; a price where none is sold would mislead a plan."""
    priced = {p.region for p in price_file().prices if p.instance == "a3-highgpu-8g"}
    assert "us-central1" in priced
    assert not priced & {"africa-south1", "europe-west12", "southamerica-east1"}


def test_prices_that_no_source_gives_are_absent() -> None:
    """No guess fills a gap: p5e has no on-demand price, and A4 is listed without a host price."""
    table = price_table()
    assert ("aws", "us-east-2", "p5e.48xlarge", "on_demand") not in table
    assert not [key for key in table if key[2] == "a4-highgpu-8g"]


def test_price_keys_are_unique() -> None:
    """Two rows for one thing would let the table pick one silently."""
    keys = Counter((p.cloud, p.region, p.instance, p.kind) for p in price_file().prices)
    assert [key for key, times in keys.items() if times > 1] == []


def test_ranges_are_ordered_and_only_spot_is_a_range() -> None:
    """Low never exceeds high; list prices are single figures."""
    for price in price_file().prices:
        assert price.usd_per_hour_low <= price.usd_per_hour_high, price
        if price.kind != "spot":
            assert price.usd_per_hour_low == price.usd_per_hour_high, price


def test_spot_keeps_the_published_rule() -> None:
    """Where both are known, spot lies between the rule's share of the on-demand price and all of it."""
    (rule,) = [r for r in price_file().rules if r.kind == "spot"]
    assert (rule.of_on_demand_low, rule.of_on_demand_high) == (0.09, 1.0)
    table = price_table()
    compared = 0
    for (cloud, region, instance, kind), spot in table.items():
        on_demand = table.get((cloud, region, instance, "on_demand"))
        if kind == "spot" and on_demand is not None:
            compared += 1
            assert spot.usd_per_hour_high <= on_demand.usd_per_hour_high, spot
            assert spot.usd_per_hour_low >= rule.of_on_demand_low * on_demand.usd_per_hour_low, spot
    assert compared > 300


def test_every_price_lies_in_a_listed_region() -> None:
    """A priced region has a place, zones and (mostly) round trips; otherwise a plan could not use it."""
    assert {f"{p.cloud}:{p.region}" for p in price_file().prices} <= set(regions())


def test_every_price_is_dated_and_sourced() -> None:
    """A price names its list and is not from after the day on which the lists were read."""
    retrieved = price_file().provenance.retrieved
    for price in price_file().prices:
        assert price.source, price
        assert price.as_of <= retrieved, price


# Regions


def test_the_regions_that_sell_gpus_are_listed() -> None:
    """About twenty AWS and two dozen Google Cloud regions, each with zones that carry its own name."""
    by_cloud = Counter(region.cloud for region in regions().values())
    assert by_cloud == {"aws": 19, "gcp": 24}
    for name, region in regions().items():
        cloud, _, bare = name.partition(":")
        assert region.cloud == cloud
        assert len(region.zones) >= 3
        assert len(set(region.zones)) == len(region.zones)
        for zone in region.zones:
            separator = "-" if cloud == "gcp" else ""
            assert zone[:-1] == bare + separator, zone
            assert zone[-1] in "abcdef", zone


def test_zones_as_the_providers_name_them() -> None:
    """Zones have gaps: they are listed, not counted off."""
    assert regions()["aws:us-east-1"].zones == tuple(f"us-east-1{letter}" for letter in "abcdef")
    assert regions()["aws:ap-northeast-1"].zones == ("ap-northeast-1a", "ap-northeast-1c", "ap-northeast-1d")
    assert regions()["gcp:us-central1"].zones == (
        "us-central1-a",
        "us-central1-b",
        "us-central1-c",
        "us-central1-f",
    )
    assert regions()["gcp:europe-west1"].zones == ("europe-west1-b", "europe-west1-c", "europe-west1-d")


def test_coordinates_are_on_the_globe_and_to_a_tenth_of_a_degree() -> None:
    """They stand for a metro area, so they claim no more precision than that."""
    for region in regions().values():
        assert -90 <= region.latitude <= 90
        assert -180 <= region.longitude <= 180
        assert region.latitude == round(region.latitude, 1)
        assert region.longitude == round(region.longitude, 1)


@pytest.mark.parametrize(
    ("a", "b", "rtt_ms"),
    [
        # Means of the two directions' averages: (84.930 + 84.936) / 2 and (68.272 + 68.481) / 2.
        ("aws:us-east-1", "aws:eu-west-1", 84.9),
        ("aws:us-east-1", "aws:us-west-2", 68.4),
        # (103.116 + 103.158) / 2, premium tier only.
        ("gcp:us-central1", "gcp:europe-west4", 103.1),
    ],
)
def test_round_trips_are_the_measured_ones(a: str, b: str, rtt_ms: float) -> None:
    """A round trip is the mean of both directions, looked up in either order."""
    assert round_trips_ms()[frozenset((b, a))] == pytest.approx(rtt_ms, abs=0.051)


def test_no_round_trip_is_faster_than_light_in_fibre() -> None:
    """Twice the great-circle distance at 200,000 km/s bounds every measurement from below."""
    for trip in region_file().round_trips:
        bound = lowest_possible_rtt_ms(regions()[trip.a], regions()[trip.b])
        assert trip.rtt_ms >= bound - COORDINATE_SLACK_MS, trip
        assert trip.rtt_ms < 400, trip


def test_a_pair_of_regions_is_measured_once() -> None:
    """The pair is unordered: a-b and b-a would be two answers to one question."""
    trips = region_file().round_trips
    assert len({frozenset((t.a, t.b)) for t in trips}) == len(trips)
    for trip in trips:
        assert trip.a != trip.b
        assert {trip.a, trip.b} <= set(regions())


def test_the_major_regions_are_all_connected() -> None:
    """A multi-region plan over the usual regions finds every round trip."""
    majors = ["us-east-1", "us-east-2", "us-west-2", "eu-west-1", "eu-central-1", "eu-north-1"]
    majors += ["ap-northeast-1", "ap-southeast-1", "ap-southeast-2", "ap-south-1"]
    for i, a in enumerate(majors):
        for b in majors[i + 1 :]:
            assert frozenset((f"aws:{a}", f"aws:{b}")) in round_trips_ms(), (a, b)


def test_every_source_key_is_spelled_out_in_the_provenance() -> None:
    """Rows cite by a short key; the file says what the key stands for."""
    for key in {trip.source for trip in region_file().round_trips}:
        assert f"key {key}" in region_file().provenance.source


# Reliability


def test_node_unavailability_is_the_stated_arithmetic() -> None:
    """419 interruptions in 54 days on 16,384 GPUs in nodes of 8, and one hour to repair."""
    nodes = 16384 / 8
    hours_between_failures = nodes * 54 * 24 / 419
    assert hours_between_failures == pytest.approx(6334.6, abs=0.1)
    assert reliability().node.unavailability == pytest.approx(1 / (hours_between_failures + 1), rel=1e-3)
    # The repair time is not measured, so neither is the product.
    assert reliability().node.basis == "assumption"


def test_cell_and_region_are_the_service_level_agreements() -> None:
    """99.5 % for what sits in one zone, 99.99 % for a region; a zone fails more often than its region."""
    rates = reliability()
    assert rates.cell.unavailability == pytest.approx(1 - 0.995)
    assert rates.region.unavailability == pytest.approx(1 - 0.9999)
    assert rates.cell.basis == rates.region.basis == "provider SLA"
    assert rates.cell.unavailability > rates.region.unavailability


# Broken files


def broken(tmp_path: Path, name: str, kind: type[FactFile], path: tuple[str | int, ...], value: object) -> BadFactFile:
    """The refusal of a copy of a data file in which one field is overwritten."""
    raw: Any = yaml.safe_load((DATA / name).read_text(encoding="utf-8"))
    target = raw
    for part in path[:-1]:
        target = target[part]
    target[path[-1]] = value
    copy = tmp_path / name
    copy.write_text(json.dumps(raw, default=str), encoding="utf-8")
    with pytest.raises(BadFactFile) as refused:
        read_facts(copy, kind)
    return refused.value


@pytest.mark.parametrize(
    ("name", "kind", "path", "value"),
    [
        ("prices.json", PriceFile, ("prices", 0, "usd_per_hour_low"), -1),
        ("prices.json", PriceFile, ("prices", 0, "as_of"), "yesterday"),
        ("prices.json", PriceFile, ("prices", 0, "kind"), "reserved"),
        ("prices.json", PriceFile, ("rules", 0, "of_on_demand_high"), "all"),
        ("regions.json", RegionFile, ("round_trips", 0, "rtt_ms"), -0.1),
        ("regions.json", RegionFile, ("regions", "aws:us-east-1", "latitude"), "north"),
        ("reliability.yaml", ReliabilityFile, ("node", "unavailability"), 1.5),
        ("reliability.yaml", ReliabilityFile, ("cell", "basis"), "hearsay"),
    ],
)
def test_a_broken_file_is_refused_with_the_name_of_the_field(
    tmp_path: Path, name: str, kind: type[FactFile], path: tuple[str | int, ...], value: object
) -> None:
    """One bad field refuses the whole file, and the message names the file and the field."""
    error = broken(tmp_path, name, kind, path, value)
    assert name in str(error)
    assert any(problem.startswith(".".join(map(str, path))) for problem in error.problems), error.problems


def test_a_range_that_is_upside_down_is_refused(tmp_path: Path) -> None:
    """The order of low and high is part of the type, so a swapped pair cannot be loaded."""
    error = broken(tmp_path, "prices.json", PriceFile, ("prices", 0, "usd_per_hour_low"), 1e6)
    assert any(p.startswith("prices.0") and "usd_per_hour_low is above usd_per_hour_high" in p for p in error.problems)


def test_an_unknown_field_is_refused(tmp_path: Path) -> None:
    """A misspelled key is a problem to report, not a value to drop."""
    error = broken(tmp_path, "reliability.yaml", ReliabilityFile, ("region", "unavailabilty"), 0.1)
    assert any(p.startswith("region.unavailabilty") for p in error.problems)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    """A file that is not there is named like any other broken file."""
    with pytest.raises(BadFactFile, match=r"prices\.json"):
        read_facts(tmp_path / "prices.json", PriceFile)


# The tool that writes prices.json


def import_prices() -> Any:
    """The tool as a module: tools/ is not a package."""
    path = Path(__file__).parents[2] / "tools" / "import_prices.py"
    spec = importlib.util.spec_from_file_location("import_prices", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_tool_adds_accelerators_to_their_host_and_leaves_out_what_is_no_regional_price(
    tmp_path: Path,
) -> None:
    """One accelerator price under two different host prices is another product; a free host is half a row."""
    tool = import_prices()
    lines = [
        "InstanceType,AcceleratorName,AcceleratorCount,Region,AvailabilityZone,Price,SpotPrice",
        "a3-highgpu-8g,,,r1,r1-a,10,2",
        "a3-highgpu-8g,,,r2,r2-a,11,2",
        "a3-highgpu-8g,,,r3,r3-a,12,2",
        "a4-highgpu-8g,,,r1,r1-a,0.0,0.0",
        ",H100,8,r1,r1-a,80,18",
        ",H100,8,r2,r2-a,33,18",
        ",H100,8,r3,r3-a,33,",
        ",B200,8,r1,r1-a,100,50",
    ]
    path = tmp_path / "vms.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    of = tool.Version("test", date(2026, 1, 1))
    catalog = tool.SkyPilotGcp(path)
    found = {(p.region, p.kind): p.usd_per_hour_high for p in catalog.prices("a3-highgpu-8g", of)}
    assert found == {("r1", "on_demand"): 90, ("r1", "spot"): 20, ("r2", "spot"): 20}
    assert list(catalog.prices("a4-highgpu-8g", of)) == []


def test_the_tool_reports_and_leaves_out_spot_above_on_demand(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Rounding is put right; a real excess cannot be true, so the row goes and the tool says so."""
    tool = import_prices()
    lines = [
        "InstanceType,Price,SpotPrice,Region,AvailabilityZone",
        "p5.48xlarge,8.22609,8.2261,r1,x-az1",
        "p5.48xlarge,8.0,8.5,r2,x-az1",
    ]
    path = tmp_path / "vms.csv"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    of = tool.Version("test", date(2026, 1, 1))
    merged = tool.merge([tool.from_skypilot_aws(path, of, {"p5.48xlarge"})])
    tool.drop_spot_above_on_demand(merged)
    assert merged["aws", "r1", "p5.48xlarge", "spot"].usd_per_hour_high == 8.22609
    assert ("aws", "r2", "p5.48xlarge", "spot") not in merged
    assert ("aws", "r2", "p5.48xlarge", "on_demand") in merged
    assert "r2 p5.48xlarge" in capsys.readouterr().err
