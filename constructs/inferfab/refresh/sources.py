"""Where newer facts come from: AWS's own APIs, or files of what they answered.

Filters of the price list are those with which Karpenter reads it (aws/karpenter-provider-aws,
pkg/providers/pricing/pricing.go): without `marketoption` GPU types come with rows of Capacity Blocks beside them.
"""

import csv
import io
import json
import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, date, datetime, time
from pathlib import Path
from typing import Any

from inferfab.catalog.prices import Price
from inferfab.preflight.reader import Reader
from inferfab.record import Record

PRICE_LIST_REGION = "us-east-1"
"""The Price List API has an endpoint here and in two more regions, each for all regions."""
_FILTERS = {
    "preInstalledSw": "NA", "operatingSystem": "Linux", "capacitystatus": "Used", "marketoption": "OnDemand",
    "tenancy": "Shared",
}  # fmt: skip
_FAMILY = "Compute Instance"
_AT_ONCE = 8


class UnreadablePrices(Exception):
    """A file is none of the formats of prices or instance facts that we know; the message says which they are."""


class Fact(Record):
    """What EC2 says of an instance type, in the catalog's words; None where it says nothing."""

    instance: str
    vcpus: int | None = None
    memory_mib: int | None = None
    gpu_count: int | None = None
    local_nvme_gb: int | None = None
    cards: int | None = None
    efa_interfaces: int | None = None
    enis_per_card: int | None = None
    ipv4_per_eni: int | None = None


def live_prices(reader: Reader, wanted: Iterable[tuple[str, str]], as_of: date) -> list[Price]:
    """On-demand prices from the Price List API, a request for each region and type.

    :raises ReadFailed: if AWS refuses.
    """

    def ask(region: str, instance: str) -> list[Price]:
        terms = {**_FILTERS, "regionCode": region, "instanceType": instance}
        filters = [{"Type": "TERM_MATCH", "Field": field, "Value": value} for field, value in terms.items()]
        answer = reader.read(
            "pricing", "GetProducts", PRICE_LIST_REGION, ServiceCode="AmazonEC2", FormatVersion="aws_v1",
            Filters=filters,
        )  # fmt: skip
        rows = (_as_product(item) for item in answer.get("PriceList", []))
        return _prices((row for row in rows if row), as_of, "AWS Price List API (AmazonEC2)")

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        asked = [pool.submit(ask, region, instance) for region, instance in wanted]
        return [price for one in asked for price in one.result()]


def live_spot(reader: Reader, regions: Iterable[str], types: Iterable[str], as_of: date) -> list[Price]:
    """Spot prices of this moment: the range over a region's zones."""
    types = sorted(types)

    def ask(region: str) -> list[Price]:
        answer = reader.read(
            "ec2", "DescribeSpotPriceHistory", region, InstanceTypes=types, ProductDescriptions=["Linux/UNIX"],
            StartTime=datetime.combine(as_of, time.min, UTC),
        )  # fmt: skip
        newest: dict[tuple[str, str], tuple[datetime, float]] = {}
        for row in answer.get("SpotPriceHistory", []):
            key, at = (row["InstanceType"], row["AvailabilityZone"]), row["Timestamp"]
            if key not in newest or at > newest[key][0]:
                newest[key] = (at, float(row["SpotPrice"]))
        by_type: dict[str, list[float]] = defaultdict(list)
        for (instance, _), (_, usd) in newest.items():
            by_type[instance].append(usd)
        source = "EC2 DescribeSpotPriceHistory, range over zones"
        return [
            Price(cloud="aws", region=region, instance=instance, kind="spot", usd_per_hour_low=min(usd),
                  usd_per_hour_high=max(usd), as_of=as_of, source=source)
            for instance, usd in by_type.items()
        ]  # fmt: skip

    with ThreadPoolExecutor(max_workers=_AT_ONCE) as pool:
        return [price for part in pool.map(ask, regions) for price in part]


def live_facts(reader: Reader, types: Iterable[str], region: str) -> list[Fact]:
    """Instance facts of the types that a region has; EC2 is asked by a filter, so an unknown type is no error."""
    filters = [{"Name": "instance-type", "Values": sorted(types)}]
    answer = reader.read("ec2", "DescribeInstanceTypes", region, Filters=filters)
    return [_fact(row) for row in answer.get("InstanceTypes", [])]


def prices_in(path: Path, as_of: date) -> list[Price]:
    """Prices of a file: the public price list (`index.json` of AmazonEC2 in a region), an answer of
    `aws pricing get-products`, or CSV with the columns region, instance_type, usd_per_hour and generated_at.

    :param as_of: for answers, which are not dated.
    :raises UnreadablePrices: for anything else.
    """
    text = _text(path)
    if path.suffix == ".csv":
        return _from_csv(path, text)
    body = _json(path, text)
    if isinstance(body.get("products"), dict) and isinstance(body.get("terms"), dict):
        published = str(body.get("publicationDate", ""))[:10]
        try:
            day = date.fromisoformat(published)
        except ValueError as error:
            raise UnreadablePrices(f"{path}: the price list has no publicationDate") from error
        return _prices(_of_offer(body), day, "AWS price list AmazonEC2 (public file)")
    if isinstance(body.get("PriceList"), list):
        rows = (_as_product(item) for item in body["PriceList"])
        return _prices((row for row in rows if row), as_of, "AWS Price List API (AmazonEC2)")
    raise UnreadablePrices(
        f"{path} is no price list: a region's index.json of AmazonEC2, an answer of `aws pricing get-products`, or CSV "
        "with region, instance_type, usd_per_hour, generated_at"
    )


def facts_in(path: Path) -> list[Fact]:
    """Instance facts of an answer of `aws ec2 describe-instance-types`.

    :raises UnreadablePrices: if it is none.
    """
    rows = _json(path, _text(path)).get("InstanceTypes")
    if not isinstance(rows, list):
        raise UnreadablePrices(f"{path} is no answer of `aws ec2 describe-instance-types`: there is no InstanceTypes")
    try:
        return [_fact(row) for row in rows]
    except (KeyError, TypeError, AttributeError) as error:
        raise UnreadablePrices(f"{path}: an instance type is not as EC2 describes one ({error})") from error


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UnreadablePrices(f"{path} cannot be read: {error}") from error


def _json(path: Path, text: str) -> dict[str, Any]:
    try:
        body = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise UnreadablePrices(f"{path} is not JSON: {error}") from error
    return body if isinstance(body, dict) else {}


Product = tuple[Mapping[str, Any], Iterable[Mapping[str, Any]]]
"""Attributes of a product, and its on-demand terms."""


def _as_product(item: Any) -> Product | None:
    """An entry of a PriceList, which the API gives as JSON in a string."""
    try:
        body = json.loads(item) if isinstance(item, str) else item
        product = body["product"]
        if product.get("productFamily") != _FAMILY:
            return None
        return product["attributes"], body["terms"]["OnDemand"].values()
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise UnreadablePrices(f"an entry of the price list is not as AWS writes one ({error})") from error


def _of_offer(body: Mapping[str, Any]) -> Iterator[Product]:
    terms = body["terms"].get("OnDemand", {})
    for sku, product in body["products"].items():
        if product.get("productFamily") == _FAMILY and sku in terms:
            yield product["attributes"], terms[sku].values()


def _prices(products: Iterable[Product], day: date, source: str) -> list[Price]:
    """One price for each region and type; a product of other filters is passed over."""
    found: dict[tuple[str, str], float] = {}
    for attributes, terms in products:
        if any(attributes.get(field, value) != value for field, value in _FILTERS.items()):
            continue
        region, instance = attributes.get("regionCode"), attributes.get("instanceType")
        usd = _usd(terms)
        if region and instance and usd is not None:
            found[(region, instance)] = usd
    return [
        Price(cloud="aws", region=region, instance=instance, kind="on_demand", usd_per_hour_low=usd,
              usd_per_hour_high=usd, as_of=day, source=source)
        for (region, instance), usd in found.items()
    ]  # fmt: skip


def _usd(terms: Iterable[Mapping[str, Any]]) -> float | None:
    """The hourly price; None for rows of nothing (a product that is not sold costs 0 there)."""
    for term in terms:
        for dimension in term.get("priceDimensions", {}).values():
            if dimension.get("unit") == "Hrs":
                try:
                    usd = float(dimension["pricePerUnit"]["USD"])
                except (KeyError, ValueError, TypeError) as error:
                    raise UnreadablePrices(f"a price is not in USD ({error})") from error
                if usd > 0 and math.isfinite(usd):
                    return round(usd, 6)
    return None


def _from_csv(path: Path, text: str) -> list[Price]:
    try:
        return [
            Price(
                cloud="aws", region=row["region"], instance=row["instance_type"], kind="on_demand",
                usd_per_hour_low=round(float(row["usd_per_hour"]), 6),
                usd_per_hour_high=round(float(row["usd_per_hour"]), 6),
                as_of=datetime.fromisoformat(row["generated_at"]).date(), source=f"{path.name}",
            )
            for row in csv.DictReader(io.StringIO(text))
        ]  # fmt: skip
    except (KeyError, ValueError, TypeError) as error:
        raise UnreadablePrices(
            f"{path}: a row is not region, instance_type, usd_per_hour, generated_at ({error})"
        ) from error


def _fact(row: Mapping[str, Any]) -> Fact:
    network = row.get("NetworkInfo", {})
    cards = network.get("NetworkCards", [])
    gpus = row.get("GpuInfo", {}).get("Gpus")
    efa = network.get("EfaInfo", {}).get("MaximumEfaInterfaces")
    return Fact(
        instance=row["InstanceType"],
        vcpus=row.get("VCpuInfo", {}).get("DefaultVCpus"),
        memory_mib=row.get("MemoryInfo", {}).get("SizeInMiB"),
        gpu_count=sum(g["Count"] for g in gpus) if gpus else None,
        local_nvme_gb=row.get("InstanceStorageInfo", {}).get("TotalSizeInGB"),
        cards=network.get("MaximumNetworkCards"),
        efa_interfaces=efa if network.get("EfaSupported") else 0 if "EfaSupported" in network else None,
        enis_per_card=cards[0].get("MaximumNetworkInterfaces") if cards else None,
        ipv4_per_eni=network.get("Ipv4AddressesPerInterface"),
    )
