"""Build catalog/data/prices.json from price lists that others publish.

The lists themselves are not kept here: fetch fresh ones, name them on the command line, and commit the
JSON that comes out. The same inputs give the same bytes.

Inputs, from most to least trusted where two of them price the same thing:

1. ``--karpenter``: on-demand prices of one AWS region (columns region, instance_type, usd_per_hour,
   generated_at), which Karpenter generates from the AWS price list.
2. ``--gcosts``: pricing.yml of Cyclenerd/google-cloud-pricing-cost-calculator, which is built from the
   Cloud Billing catalog. It prices every machine in every region, sold there or not.
3. ``--skypilot-aws``, ``--skypilot-gcp``: aws/vms.csv and gcp/vms.csv of skypilot-org/skypilot-catalog.
   On Google Cloud a host and its accelerators are rows of their own; the GCP list also tells which
   regions have a machine at all.
"""

import argparse
import csv
import json
import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

import yaml

from inferfab.catalog.instances import Cloud
from inferfab.catalog.prices import Price, PriceFile, PriceKind

ACCELERATORS = {
    "a3-highgpu-8g": ("H100", 8),
    "a3-megagpu-8g": ("H100-MEGA", 8),
    "a3-ultragpu-8g": ("H200", 8),
    "a4-highgpu-8g": ("B200", 8),
}
"""What SkyPilot calls the accelerators of a Google Cloud machine, and how many it has."""

AVAILABILITY_ZONE = re.compile(r"[a-z0-9]+-az\d+")
"""An AWS zone id of the region proper. A Local Zone has a place in between (``use1-atl2-az1``)."""

ROUNDING = 0.00006
"""AWS publishes spot prices with four decimals, so one at the on-demand price may come out above it."""

CAPACITY_BLOCK_SOURCE = (
    "AWS EC2 Capacity Blocks for ML pricing page, stored copy of the rates in force until 2025-01-01; "
    "operating system fee not included"
)
CAPACITY_BLOCKS = (
    ("us-east-1", "p5.48xlarge", 39.33),
    ("us-east-2", "p5.48xlarge", 39.33),
    ("us-east-2", "p5e.48xlarge", 43.26),
    ("us-east-2", "p4d.24xlarge", 14.75),
    ("us-west-2", "p4d.24xlarge", 14.75),
)
"""Read by hand: there is no list to import."""

RULES = [
    {
        "kind": "spot",
        "of_on_demand_low": 0.09,
        "of_on_demand_high": 1.0,
        "why": (
            "AWS sells spot capacity at up to 90 % off the on-demand price, Google Cloud at up to 91 % off; "
            "the lower of the two floors holds for both. A spot request on AWS pays at most the on-demand "
            "price unless it says otherwise."
        ),
        "source": (
            "aws.amazon.com/ec2/spot/pricing (stored copy); AWS Batch API reference, ComputeResource "
            "bidPercentage; docs.cloud.google.com/compute/docs/instances/create-use-spot"
        ),
    }
]

Key = tuple[Cloud, str, str, PriceKind]


class Version(NamedTuple):
    """Which stored version of a list was read, and the day from which its prices are."""

    source: str
    as_of: date


def exact(cloud: Cloud, region: str, instance: str, usd: float, of: Version) -> Price:
    return span(cloud, region, instance, "on_demand", usd=[usd], of=of)


def span(cloud: Cloud, region: str, instance: str, kind: PriceKind, *, usd: Iterable[float], of: Version) -> Price:
    values = [round(u, 6) for u in usd]
    return Price(
        cloud=cloud,
        region=region,
        instance=instance,
        kind=kind,
        usd_per_hour_low=min(values),
        usd_per_hour_high=max(values),
        as_of=of.as_of,
        source=of.source,
    )


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def from_karpenter(path: Path, source: str, known: set[str]) -> Iterator[Price]:
    for row in rows_of(path):
        if row["instance_type"] in known:
            day = datetime.fromisoformat(row["generated_at"]).date()
            yield exact("aws", row["region"], row["instance_type"], float(row["usd_per_hour"]), Version(source, day))


def from_skypilot_aws(path: Path, of: Version, known: set[str]) -> Iterator[Price]:
    on_demand: dict[tuple[str, str], set[float]] = defaultdict(set)
    spot: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows_of(path):
        key = (row["Region"], row["InstanceType"])
        if key[1] not in known or not AVAILABILITY_ZONE.fullmatch(row["AvailabilityZone"]):
            continue
        if row["Price"]:
            on_demand[key].add(float(row["Price"]))
        if row["SpotPrice"]:
            spot[key].append(float(row["SpotPrice"]))
    for (region, instance), usd in on_demand.items():
        yield span("aws", region, instance, "on_demand", usd=usd, of=of)
    for (region, instance), zones in spot.items():
        ceiling = max(on_demand.get((region, instance), {float("inf")}))
        capped = [min(z, ceiling) if z <= ceiling + ROUNDING else z for z in zones]
        yield span("aws", region, instance, "spot", usd=capped, of=of)


class SkyPilotGcp:
    """Hosts and accelerators of the Google Cloud list, by zone."""

    def __init__(self, path: Path) -> None:
        self.hosts: dict[tuple[str, str], dict[str, str]] = {}
        self.accelerators: dict[tuple[str, int, str], dict[str, str]] = {}
        self.l4_regions: set[str] = set()
        for row in rows_of(path):
            zone = row["AvailabilityZone"]
            if row["InstanceType"]:
                self.hosts[row["InstanceType"], zone] = row
            elif row["AcceleratorName"]:
                count = int(float(row["AcceleratorCount"]))
                self.accelerators[row["AcceleratorName"], count, zone] = row
                if row["AcceleratorName"] == "L4":
                    self.l4_regions.add(row["Region"])

    def pairs(self, machine: str) -> list[tuple[dict[str, str], dict[str, str]]]:
        """The (host, accelerator) rows of a machine in each zone that has both."""
        accelerator = ACCELERATORS[machine]
        return [
            (host, self.accelerators[(*accelerator, zone)])
            for (name, zone), host in self.hosts.items()
            if name == machine and (*accelerator, zone) in self.accelerators
        ]

    def sold(self, machine: str) -> set[str]:
        """Regions that have the machine. Only G2 carries an L4, so there the L4 decides."""
        if machine.startswith("g2-"):
            return self.l4_regions
        return {host["Region"] for host, _ in self.pairs(machine)}

    def prices(self, machine: str, of: Version) -> Iterator[Price]:
        """Host plus accelerators.

        The list mixes products: some accelerator prices are one and the same number in regions whose hosts
        cost different amounts, far below the list price and once below spot. A regional on-demand price
        does not do that, so those are left out. So is a machine whose host costs nothing: half is missing.
        """
        pairs = self.pairs(machine)
        hosts_at: dict[str, set[str]] = defaultdict(set)
        for host, accelerator in pairs:
            hosts_at[accelerator["Price"]].add(host["Price"])
        on_demand: dict[str, list[float]] = defaultdict(list)
        spot: dict[str, list[float]] = defaultdict(list)
        for host, accelerator in pairs:
            if not float(host["Price"] or 0):
                continue
            if accelerator["Price"] and len(hosts_at[accelerator["Price"]]) == 1:
                on_demand[host["Region"]].append(float(host["Price"]) + float(accelerator["Price"]))
            if host["SpotPrice"] and accelerator["SpotPrice"]:
                spot[host["Region"]].append(float(host["SpotPrice"]) + float(accelerator["SpotPrice"]))
        for region, usd in on_demand.items():
            yield span("gcp", region, machine, "on_demand", usd=usd, of=of)
        for region, usd in spot.items():
            yield span("gcp", region, machine, "spot", usd=usd, of=of)


def from_gcosts(path: Path, source: str, catalog: SkyPilotGcp) -> Iterator[Price]:
    text = path.read_text(encoding="utf-8")
    raw = yaml.load(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
    of = Version(source, datetime.fromtimestamp(raw["about"]["timestamp"], UTC).date())
    for machine, entry in raw["compute"]["instance"].items():
        if machine not in ACCELERATORS and not machine.startswith("g2-"):
            continue
        sold = catalog.sold(machine)
        for region, cost in entry["cost"].items():
            if region in sold:
                yield exact("gcp", region, machine, cost["hour"], of)
                yield span("gcp", region, machine, "spot", usd=[cost["hour_spot"]], of=of)


def key_of(price: Price) -> Key:
    return price.cloud, price.region, price.instance, price.kind


def merge(lists: Iterable[Iterable[Price]]) -> dict[Key, Price]:
    """Earlier lists win; a later one that disagrees on an on-demand price is reported."""
    merged: dict[Key, Price] = {}
    for prices in lists:
        for price in prices:
            kept = merged.setdefault(key_of(price), price)
            if kept.kind == "on_demand" and abs(kept.usd_per_hour_high - price.usd_per_hour_high) > 0.001:
                print(
                    f"differs: {price.region} {price.instance}: kept {kept.usd_per_hour_high} "
                    f"({kept.as_of}), not {price.usd_per_hour_high} ({price.as_of})",
                    file=sys.stderr,
                )
    return merged


def drop_spot_above_on_demand(merged: dict[Key, Price]) -> None:
    for key, price in list(merged.items()):
        on_demand = merged.get((*key[:3], "on_demand"))
        if price.kind == "spot" and on_demand and price.usd_per_hour_high > on_demand.usd_per_hour_high:
            print(
                f"left out: spot above on demand: {price.region} {price.instance} "
                f"{price.usd_per_hour_high} > {on_demand.usd_per_hour_high}",
                file=sys.stderr,
            )
            del merged[key]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--instances", type=Path, required=True, help="JSON with rows[].instance_type (AWS)")
    parser.add_argument("--karpenter", type=Path, required=True)
    parser.add_argument("--karpenter-version", required=True, help="repository, path and commit")
    parser.add_argument("--gcosts", type=Path, required=True)
    parser.add_argument("--gcosts-version", required=True)
    parser.add_argument("--skypilot-aws", type=Path, required=True)
    parser.add_argument("--skypilot-gcp", type=Path, required=True)
    parser.add_argument("--skypilot-aws-version", required=True)
    parser.add_argument("--skypilot-gcp-version", required=True)
    parser.add_argument("--skypilot-as-of", type=date.fromisoformat, required=True)
    parser.add_argument("--retrieved", type=date.fromisoformat, required=True)
    parser.add_argument("--note", default="")
    parser.add_argument("--output", type=Path, required=True)
    args = parser.parse_args(argv)

    known = {row["instance_type"] for row in json.loads(args.instances.read_text(encoding="utf-8"))["rows"]}
    catalog = SkyPilotGcp(args.skypilot_gcp)
    gcp = Version(f"{args.skypilot_gcp_version}; host plus accelerators, without local SSD", args.skypilot_as_of)
    merged = merge(
        [
            from_karpenter(args.karpenter, args.karpenter_version, known),
            from_gcosts(args.gcosts, args.gcosts_version, catalog),
            from_skypilot_aws(args.skypilot_aws, Version(args.skypilot_aws_version, args.skypilot_as_of), known),
            *(catalog.prices(machine, gcp) for machine in ACCELERATORS),
            [
                span(
                    "aws",
                    region,
                    instance,
                    "capacity_block",
                    usd=[usd],
                    of=Version(CAPACITY_BLOCK_SOURCE, date(2024, 12, 31)),
                )
                for region, instance, usd in CAPACITY_BLOCKS
            ],
        ]
    )
    drop_spot_above_on_demand(merged)
    document = PriceFile.model_validate(
        {
            "provenance": {
                "source": "; ".join(
                    (
                        args.karpenter_version,
                        args.gcosts_version,
                        args.skypilot_aws_version,
                        args.skypilot_gcp_version,
                    )
                ),
                "retrieved": args.retrieved,
                "note": args.note,
            },
            "prices": [merged[key] for key in sorted(merged)],
            "rules": RULES,
        }
    )
    text = json.dumps(document.model_dump(mode="json"), indent=1, ensure_ascii=False)
    args.output.write_text(text + "\n", encoding="utf-8")
    print(f"{len(document.prices)} prices -> {args.output.name}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
