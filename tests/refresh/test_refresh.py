"""Newer prices and facts: read in AWS's own shapes, shown with what they do to plans, written only when told to."""

import json
import shutil
from collections.abc import Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import Stubber

from conformance.shared_folder import shared
from inferfab.catalog.facts import DATA, read_facts
from inferfab.catalog.instances import InstanceFile
from inferfab.catalog.prices import PriceFile, price_table, priced_by
from inferfab.cli.main import main
from inferfab.preflight.aws import AwsReader
from inferfab.refresh.changes import compare, instance_text, price_text
from inferfab.refresh.effect import effects
from inferfab.refresh.sources import (
    UnreadablePrices,
    facts_in,
    live_facts,
    live_prices,
    live_spot,
    prices_in,
)
from moto_server import false_credentials

DAY = date(2026, 12, 1)
HEAD = "region,instance_type,usd_per_hour,generated_at"
DEV = Path(__file__).parents[2] / "environments" / "dev.yaml"
ATTRIBUTES = {
    "regionCode": "us-east-1", "instanceType": "g6e.xlarge", "operatingSystem": "Linux", "preInstalledSw": "NA",
    "capacitystatus": "Used", "marketoption": "OnDemand", "tenancy": "Shared",
}  # fmt: skip


def term(usd: str) -> dict[str, Any]:
    dimension = {"unit": "Hrs", "pricePerUnit": {"USD": usd}}
    return {"x.JRTCKXETXF": {"priceDimensions": {"x.JRTCKXETXF.6YS6EN2CT7": dimension}}}


def product(**attributes: str) -> dict[str, Any]:
    return {"productFamily": "Compute Instance", "attributes": {**ATTRIBUTES, **attributes}}


def offer(usd: str = "3.722", day: str = "2026-12-01T00:00:00Z") -> dict[str, Any]:
    """A region's index.json, with rows beside the one that counts."""
    products = {
        "A": product(),
        "windows": product(operatingSystem="Windows"),
        "block": product(marketoption="CapacityBlock"),
        "reserved": product(capacitystatus="AllocatedCapacityReservation"),
        "host": {**product(), "productFamily": "Dedicated Host"},
        "strange": product(instanceType="p9.48xlarge"),
    }
    terms = {sku: term("999.0") for sku in products} | {"A": term(usd), "strange": term("1.5")}
    return {"publicationDate": day, "products": products, "terms": {"OnDemand": terms}}


@pytest.fixture
def catalog() -> tuple[PriceFile, InstanceFile]:
    return read_facts(DATA / "prices.json", PriceFile), read_facts(DATA / "aws_instances.json", InstanceFile)


def written(path: Path, body: Mapping[str, Any]) -> Path:
    path.write_text(json.dumps(body))
    return path


def test_the_public_price_list(tmp_path: Path, catalog: tuple[PriceFile, InstanceFile]) -> None:
    """Only Linux on demand on shared machines counts. g6e.xlarge costs 1.861 USD in us-east-1 (2026-07-20): +100 %."""
    prices = prices_in(written(tmp_path / "index.json", offer()), DAY)
    assert {p.instance: p.usd_per_hour_high for p in prices} == {"g6e.xlarge": 3.722, "p9.48xlarge": 1.5}
    refresh, after, _ = compare(*catalog, prices, [])
    (change,) = refresh.prices
    assert (change.instance, change.before, change.after, change.as_of) == (
        "g6e.xlarge", (1.861, 1.861), (3.722, 3.722), DAY,
    )  # fmt: skip
    assert change.percent == pytest.approx(100)
    assert refresh.not_in_catalog == ("p9.48xlarge",)
    assert len(after.prices) == len(catalog[0].prices)
    assert after.provenance.source.endswith("; refreshed 2026-12-01")


def test_a_second_refresh_of_the_same_changes_nothing(tmp_path: Path, catalog: tuple[PriceFile, InstanceFile]) -> None:
    prices = prices_in(written(tmp_path / "index.json", offer()), DAY)
    _, after, machines = compare(*catalog, prices, [])
    again, same, _ = compare(after, machines, prices, [])
    assert again.prices == () and again.confirmed == 1
    assert price_text(same) == price_text(after)


def test_an_older_list_is_left_alone(tmp_path: Path, catalog: tuple[PriceFile, InstanceFile]) -> None:
    """The catalog's price is of July 2026."""
    prices = prices_in(written(tmp_path / "index.json", offer(day="2026-01-05T00:00:00Z")), DAY)
    refresh, after, _ = compare(*catalog, prices, [])
    assert (refresh.prices, refresh.older) == ((), 1)
    assert after == catalog[0]


def test_what_it_does_to_plans(tmp_path: Path, catalog: tuple[PriceFile, InstanceFile]) -> None:
    """dev has one g6e.xlarge: 730 hours of 1.861, then of 3.722. The catalog itself is untouched meanwhile."""
    _, after, _ = compare(*catalog, prices_in(written(tmp_path / "index.json", offer()), DAY), [])
    ((dev,), broken) = effects([DEV], after)
    assert broken == []
    assert dev.changed
    assert dev.desired_before.high == pytest.approx(1.861 * 730)
    assert dev.desired_after.high == pytest.approx(3.722 * 730)
    key = ("aws", "us-east-1", "g6e.xlarge", "on_demand")
    with priced_by(after):
        assert price_table()[key].usd_per_hour_high == 3.722  # type: ignore[index]
    assert price_table()[key].usd_per_hour_high == 1.861  # type: ignore[index]


def test_a_list_of_others_confirms_the_catalog(catalog: tuple[PriceFile, InstanceFile]) -> None:
    """Karpenter's list for us-east-1 is where these prices came from: all the same, none changed."""
    csv = shared("data/pricing/aws_ec2_gpu_ondemand_karpenter.csv")
    refresh, _, _ = compare(*catalog, prices_in(csv, DAY), [])
    assert refresh.prices == ()
    assert refresh.confirmed >= 50


def describe(row: Mapping[str, Any]) -> dict[str, Any]:
    """A collected row as EC2 describes an instance type."""
    return {
        "InstanceType": row["instance_type"],
        "VCpuInfo": {"DefaultVCpus": row["vcpus"]},
        "MemoryInfo": {"SizeInMiB": row["memory_mib"]},
        "GpuInfo": {"Gpus": [{"Count": row["gpu_count"]}]},
        "InstanceStorageInfo": {"TotalSizeInGB": row["local_nvme_gb"]},
        "NetworkInfo": {
            "MaximumNetworkCards": row["network_cards"],
            "EfaSupported": bool(row["efa_max_interfaces"]),
            "EfaInfo": {"MaximumEfaInterfaces": row["efa_max_interfaces"]} if row["efa_max_interfaces"] else {},
            "NetworkCards": [{"MaximumNetworkInterfaces": row["enis_per_card"]["0"]}],
            "Ipv4AddressesPerInterface": row["ipv4_per_eni"],
        },
    }


def test_facts_of_the_collected_table(tmp_path: Path, catalog: tuple[PriceFile, InstanceFile]) -> None:
    """In EC2's shape the table that the catalog was made from changes nothing; more memory and more EFA do."""
    source = shared("data/aws_gpu_instances.json")
    rows = [r for r in json.loads(source.read_text())["rows"] if r["vcpus"] and r["enis_per_card"]]
    described = [describe(row) for row in rows]
    same, _, machines = compare(*catalog, [], facts_in(written(tmp_path / "a.json", {"InstanceTypes": described})))
    assert same.facts == ()
    assert instance_text(machines) == (DATA / "aws_instances.json").read_text(encoding="utf-8")

    p5en = next(d for d in described if d["InstanceType"] == "p5en.48xlarge")
    p5en["MemoryInfo"]["SizeInMiB"] = 4 * 1024**2
    p5en["NetworkInfo"]["EfaInfo"]["MaximumEfaInterfaces"] = 32
    refresh, _, newer = compare(*catalog, [], facts_in(written(tmp_path / "a.json", {"InstanceTypes": described})))
    assert [(f.fact, f.before, f.after, f.by_hand) for f in refresh.facts] == [
        ("memory_mib", 2097152, 4194304, False),
        ("efa_interfaces", 16, 32, True),
    ]
    found = next(m for m in newer.instances if m.name == "p5en.48xlarge")
    assert found.memory_mib == 4194304
    assert found.rdma_nic_count == 16  # its layout is a person's work


def stubbed(service: str) -> tuple[AwsReader, Stubber]:
    reader = AwsReader("us-east-1")
    client = boto3.client(service, region_name="us-east-1")
    reader._clients[(service, "us-east-1")] = client
    return reader, Stubber(client)


def test_the_price_list_api(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request that is sent, filter by filter, and products as JSON in strings, in the API's own shapes."""
    false_credentials(monkeypatch)
    reader, stub = stubbed("pricing")
    wanted = {k: v for k, v in ATTRIBUTES.items() if k not in ("regionCode", "instanceType")}
    filters = [
        {"Type": "TERM_MATCH", "Field": k, "Value": v}
        for k, v in {**wanted, "regionCode": "us-east-1", "instanceType": "g6e.xlarge"}.items()
    ]
    order = ["preInstalledSw", "operatingSystem", "capacitystatus", "marketoption", "tenancy", "regionCode",
             "instanceType"]  # fmt: skip
    filters.sort(key=lambda f: order.index(f["Field"]))
    item = json.dumps({"product": product(), "terms": {"OnDemand": term("2.5")}})
    stub.add_response(
        "get_products",
        {"FormatVersion": "aws_v1", "PriceList": [item]},
        {"ServiceCode": "AmazonEC2", "FormatVersion": "aws_v1", "Filters": filters},
    )
    with stub:
        (price,) = live_prices(reader, [("us-east-1", "g6e.xlarge")], DAY)
    assert (price.usd_per_hour_low, price.as_of, price.source) == (2.5, DAY, "AWS Price List API (AmazonEC2)")


def test_spot_is_the_range_over_zones(monkeypatch: pytest.MonkeyPatch) -> None:
    """The newest price of each zone."""
    false_credentials(monkeypatch)
    reader, stub = stubbed("ec2")

    def row(zone: str, usd: str, hour: int) -> dict[str, Any]:
        at = datetime(2026, 12, 1, hour, tzinfo=UTC)
        return {"InstanceType": "g6e.xlarge", "AvailabilityZone": zone, "SpotPrice": usd, "Timestamp": at}

    history = [row("us-east-1a", "0.9", 3), row("us-east-1a", "0.5", 1), row("us-east-1b", "0.7", 2)]
    stub.add_response("describe_spot_price_history", {"SpotPriceHistory": history, "NextToken": ""})
    with stub:
        (price,) = live_spot(reader, ["us-east-1"], ["g6e.xlarge"], DAY)
    assert (price.kind, price.usd_per_hour_low, price.usd_per_hour_high) == ("spot", 0.7, 0.9)


def test_facts_from_ec2(monkeypatch: pytest.MonkeyPatch) -> None:
    false_credentials(monkeypatch)
    reader, stub = stubbed("ec2")
    types = [{"InstanceType": "g6e.xlarge", "VCpuInfo": {"DefaultVCpus": 4}, "NetworkInfo": {"EfaSupported": False}}]
    stub.add_response("describe_instance_types", {"InstanceTypes": types})
    with stub:
        (fact,) = live_facts(reader, ["g6e.xlarge"], "us-east-1")
    assert (fact.vcpus, fact.efa_interfaces, fact.memory_mib) == (4, 0, None)


def test_prices_that_are_not_found_any_more_are_told(catalog: tuple[PriceFile, InstanceFile]) -> None:
    asked = {("aws", "us-east-1", "g6e.xlarge", "on_demand"), ("aws", "us-east-1", "p9.48xlarge", "on_demand")}
    refresh, after, _ = compare(*catalog, [], [], asked=asked)
    assert refresh.unconfirmed == ("us-east-1 g6e.xlarge on_demand",)
    assert after == catalog[0]


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("x.json", "{", "is not JSON"),
        ("x.json", "[]", "is no price list"),
        ("x.json", '{"PriceList": ["{}"]}', "not as AWS writes one"),
        ("x.json", '{"products": {}, "terms": {}}', "no publicationDate"),
        ("x.csv", "a,b\n1,2\n", "its first line has no region"),
        ("x.csv", "", "its first line has no region"),
        ("x.csv", "<html>\n", "its first line has no region"),
        ("x.csv", f"{HEAD}\n", "there is no price in it"),
        ("x.json", '{"PriceList": []}', "there is no price in it"),
        ("x.csv", f"{HEAD}\nus-east-1,p5.48xlarge,dear,2026-01-01\n", "x.csv:2: this row is not"),
        ("x.csv", f"{HEAD}\nus-east-1,p5.48xlarge,inf,2026-01-01\n", "inf USD an hour is no price"),
        ("x.csv", f"{HEAD}\nus-east-1,p5.48xlarge,nan,2026-01-01\n", "nan USD an hour is no price"),
        ("x.csv", f"{HEAD}\nus-east-1,p5.48xlarge,1e308,2026-01-01\n", "is no price of a machine"),
        ("x.csv", f"{HEAD}\nus-east-1,p5.48xlarge,-1,2026-01-01\n", "is no price of a machine"),
        ("x.csv", f"{HEAD}\nus-east-1,p5.48xlarge,5,2999-01-01\n", "is of 2999-01-01, which is to come"),
        ("x.csv", f"{HEAD}\nus-east-1,p5.48xlarge\n", "this row is not"),
        ("x.json", json.dumps(offer("1e308")), "is no price of a machine"),
        ("x.json", json.dumps(offer("inf")), "is no price of a machine"),
        ("x.json", json.dumps(offer(day="2999-01-01")), "is of 2999-01-01, which is to come"),
    ],
)
def test_files_that_are_none(name: str, text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(UnreadablePrices, match=says) as error:
        prices_in(path, DAY)
    assert "\n" not in str(error.value) and "pydantic" not in str(error.value)


def test_a_fact_that_is_none_is_named_with_its_type(tmp_path: Path) -> None:
    """One sentence, whatever the part that has another form."""
    for row, says in (
        ({"InstanceType": "p5.48xlarge", "MemoryInfo": {"SizeInMiB": "abc"}}, "p5.48xlarge .*memory_mib is 'abc'"),
        ({"InstanceType": 5}, r"InstanceTypes\[0\].* instance is 5"),
        ({"InstanceType": "p5.48xlarge", "GpuInfo": []}, "another form"),
        ({}, "without 'InstanceType'"),
        (None, "another form"),
    ):
        with pytest.raises(UnreadablePrices, match=says) as error:
            facts_in(written(tmp_path / "x.json", {"InstanceTypes": [row]}))
        assert "\n" not in str(error.value)
    with pytest.raises(UnreadablePrices, match="no instance type in it"):
        facts_in(written(tmp_path / "x.json", {"InstanceTypes": []}))


def test_what_is_not_there_is_said_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A missing environment is no environment with errors, and a wrong `--data` no broken installation."""
    file = str(written(tmp_path / "index.json", offer()))
    assert run(monkeypatch, "--from", file, "--env", "nope", "--as-of", "2026-12-01") == 1
    assert "nope.yaml: there is no such file" in capsys.readouterr().err
    assert run(monkeypatch, "--from", file, "--data", str(tmp_path / "nope"), "--as-of", "2026-12-01") == 1
    assert "there is no such folder" in capsys.readouterr().err
    assert run(monkeypatch, "--from", file, "--data", str(tmp_path), "--as-of", "2026-12-01") == 1
    said = capsys.readouterr().err
    assert "is no folder of the catalog's data" in said and "reinstall" not in said


def run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["inferfab", "catalog", "refresh", *words])
    try:
        main()
    except SystemExit as stop:
        return int(stop.code or 0)
    return 0


def test_nothing_is_written_unless_told_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Shown first; then the two files, which the catalog reads again, and the diff for the review."""
    data = tmp_path / "data"
    data.mkdir()
    for name in ("prices.json", "aws_instances.json"):
        shutil.copy(DATA / name, data)
    before = {path.name: path.read_bytes() for path in data.iterdir()}
    file = str(written(tmp_path / "index.json", offer()))
    words = ("--from", file, "--data", str(data), "--env", str(DEV), "--as-of", "2026-12-01")
    assert run(monkeypatch, *words) == 0
    out = capsys.readouterr().out
    assert {path.name: path.read_bytes() for path in data.iterdir()} == before
    assert "+100.0 %" in out and "nothing was written" in out
    assert "2,717" in out  # dev: 730 x 3.722
    diff = tmp_path / "diff.txt"
    assert run(monkeypatch, *words, "--write", "--out", str(diff), "--format", "json") == 0
    body = json.loads(capsys.readouterr().out)
    assert body["written"] is True and len(body["prices"]) == 1
    assert "Catalog refresh of 2026-12-01" in diff.read_text()
    assert (data / "aws_instances.json").read_bytes() == before["aws_instances.json"]
    read = read_facts(data / "prices.json", PriceFile)
    assert [
        p.usd_per_hour_high
        for p in read.prices
        if (p.region, p.instance, p.kind) == ("us-east-1", "g6e.xlarge", "on_demand")
    ] == [3.722]
    changed = (data / "prices.json").read_text().splitlines()
    # The row's two prices, its day, its source; and the file's own source.
    assert sum(a != b for a, b in zip(changed, before["prices.json"].decode().splitlines(), strict=True)) == 5


def test_bad_files_are_refused_with_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "x.json"
    path.write_text("nonsense")
    assert run(monkeypatch, "--from", str(path)) == 1
    assert run(monkeypatch, "--instances", str(path)) == 1
    assert "Traceback" not in capsys.readouterr().err
    assert run(monkeypatch, "--from", str(path), "--spot") == 2
