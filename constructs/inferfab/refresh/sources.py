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
from datetime import UTC, date, datetime, time, timedelta
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from inferfab.catalog.prices import Price
from inferfab.input_files import MOST_PLAN_BYTES, read_text
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
MOST_USD_PER_HOUR = 10_000.0
"""The dearest machines of the catalog cost about 1 % of it: above, it is a slip or another currency."""
_AHEAD = timedelta(days=1)
"""Where it is tomorrow already."""
_COLUMNS = ("region", "instance_type", "usd_per_hour", "generated_at")


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
                newest[key] = (at, _plausible(float(row["SpotPrice"])))
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
    found = _prices_in(path, as_of)
    if not found:
        raise UnreadablePrices(f"{path}: there is no price in it that counts (Linux, on demand, shared machines)")
    return found


def _prices_in(path: Path, as_of: date) -> list[Price]:
    text = _text(path)
    if path.suffix == ".csv":
        return _from_csv(path, text, as_of)
    body = _json(path, text)
    if isinstance(body.get("products"), dict) and isinstance(body.get("terms"), dict):
        published = str(body.get("publicationDate", ""))[:10]
        try:
            day = date.fromisoformat(published)
        except ValueError as error:
            raise UnreadablePrices(f"{path}: the price list has no publicationDate") from error
        if day > as_of + _AHEAD:
            raise UnreadablePrices(f"{path}: the price list is of {day}, which is to come")
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
    if not rows:
        raise UnreadablePrices(f"{path}: there is no instance type in it")
    found = []
    for at, row in enumerate(rows):
        try:
            found.append(_fact(row))
        except (KeyError, TypeError, AttributeError, ValueError) as error:
            name = row.get("InstanceType") if isinstance(row, dict) else None
            which = name if isinstance(name, str) else f"InstanceTypes[{at}]"
            if isinstance(error, ValidationError):
                first = error.errors()[0]
                why = f"{first['loc'][0]} is {first['input']!r:.40}"
            else:
                why = f"without {error}" if isinstance(error, KeyError) else "a part of it has another form"
            raise UnreadablePrices(f"{path}: {which} is not as EC2 describes an instance type: {why}") from error
    return found


def _text(path: Path) -> str:
    try:
        return read_text(path, MOST_PLAN_BYTES)
    except OSError as error:
        raise UnreadablePrices(f"{path} cannot be read: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise UnreadablePrices(f"{path} cannot be read: byte {error.start} is not UTF-8") from error


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
                if usd:
                    return _plausible(usd)
    return None


def _plausible(usd: float) -> float:
    """To a millionth; every price comes through here.

    :raises UnreadablePrices: if it is no price of a machine.
    """
    usd = round(usd, 6) if math.isfinite(usd) else usd
    if not 0 < usd <= MOST_USD_PER_HOUR:
        raise UnreadablePrices(f"{usd:g} USD an hour is no price of a machine; at most {MOST_USD_PER_HOUR:,.0f} is")
    return usd


def _from_csv(path: Path, text: str, as_of: date) -> list[Price]:
    rows = csv.DictReader(io.StringIO(text))
    found = []
    try:
        if missing := [name for name in _COLUMNS if name not in (rows.fieldnames or ())]:
            raise UnreadablePrices(
                f"{path}: its first line has no {', '.join(missing)}; it names {', '.join(_COLUMNS)}"
            )
        for row in rows:
            try:
                found.append(_csv_price(path, row, as_of))
            except (ValueError, TypeError, UnreadablePrices) as error:
                why = error if isinstance(error, UnreadablePrices) else "a price is a number, a date is 2026-11-30"
                raise UnreadablePrices(
                    f"{path}:{rows.line_num}: this row is not {', '.join(_COLUMNS)}: {why}"
                ) from error
    except csv.Error as error:
        raise UnreadablePrices(f"{path}:{rows.line_num}: is no CSV: {error}") from error
    return found


def _csv_price(path: Path, row: Mapping[str, str], as_of: date) -> Price:
    day = datetime.fromisoformat(row["generated_at"]).date()
    if day > as_of + _AHEAD:
        raise UnreadablePrices(f"it is of {day}, which is to come")
    if not row["region"] or not row["instance_type"]:
        raise UnreadablePrices("a region or an instance type is empty")
    usd = _plausible(float(row["usd_per_hour"]))
    return Price(
        cloud="aws", region=row["region"], instance=row["instance_type"], kind="on_demand", usd_per_hour_low=usd,
        usd_per_hour_high=usd, as_of=day, source=path.name,
    )  # fmt: skip


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
