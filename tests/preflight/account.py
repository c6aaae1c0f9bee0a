"""An account made of answers, for fleets of one cell."""

from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from typing import Any

from inferfab import load_text
from inferfab.plan.fleet import FleetPlan, plan
from inferfab.preflight.preflight import preflight
from inferfab.preflight.reader import Answer, Denied, ReadFailed
from inferfab.preflight.reads import READS
from inferfab.preflight.report import Report, Row

AS_OF = date(2026, 11, 30)
RESERVATION = "cr-0a1b2c3d4e5f60001"
CHAT = """
name: shop
owner: team
accounts: {aws: {account_id: "111122223333"}}
engine: {dynamo: 1.6.1}
tiers: {standard: {availability_percent: 99}, batch: {}}
models:
  llama-8b: {catalog: llama-3.1-8b-instruct, revision: 0e9e39f249a16976918f6564b8830bc894c89659, quantization: bf16,
             context_tokens: 16384, gated: true, token_secret: hf-token}
pools:
  chat:
    topology: disaggregated
    tier: standard
    model: llama-8b
    instance: p5en.48xlarge
    capacity: {kind: reservation, id: cr-0a1b2c3d4e5f60001}
    prefill: {tensor_parallel: 1, replicas: {min: 8, desired: 8, max: 16}}
    decode: {tensor_parallel: 1, replicas: {min: 8, desired: 8, max: 16}}
  nightly:
    topology: aggregated
    tier: batch
    model: llama-8b
    instance: g6e.12xlarge
    capacity: {kind: spot}
    worker: {replicas: {min: 1, desired: 4, max: 16}}
cells:
  a:
    cloud: aws
    region: us-east-1
    zone: us-east-1a
    network: {kind: new, cidr: 10.16.0.0/16}
    pools: {chat: {}, nightly: {}}
routing: {domain: llm.example.com}
"""


def fleet_of(text: str = CHAT) -> FleetPlan:
    loaded = load_text(text)
    assert loaded.environment is not None, loaded.findings
    return plan(loaded.environment)


Say = Answer | Exception | Callable[..., Answer]


def not_there(code: str) -> ReadFailed:
    return ReadFailed(f"{code}: no such thing", code)


def quota(**asked: Any) -> Answer:
    """What is granted by code, as an account might have it."""
    values = {
        "L-417A185B": 768.0, "L-DB2E81BA": 0.0, "L-1216C47A": 512.0, "L-3819A6DF": 192.0, "L-0263D0A3": 5.0,
        "L-F678F1CE": 5.0, "L-FE5A380F": 5.0, "L-69A177A2": 50.0, "L-B22855CB": 3000.0, "L-1194D53C": 100.0,
        "L-6D54EA21": 30.0, "L-BD136A63": 450.0, "L-7A658B76": 50.0,
    }  # fmt: skip
    return {"Quota": {"Value": values[asked["QuotaCode"]], "QuotaCode": asked["QuotaCode"]}}


def allowed(**asked: Any) -> Answer:
    return {"EvaluationResults": [{"EvalActionName": a, "EvalDecision": "allowed"} for a in asked["ActionNames"]]}


SERVERS = ["ns-1.awsdns-00.com", "ns-2.awsdns-00.net"]
RESERVED = {
    "CapacityReservationId": RESERVATION, "State": "active", "InstanceType": "p5en.48xlarge",
    "AvailabilityZone": "us-east-1a", "TotalInstanceCount": 4, "AvailableInstanceCount": 3,
    "EndDateType": "unlimited", "StartDate": datetime(2026, 10, 1, tzinfo=UTC),
}  # fmt: skip
WHOLE: Mapping[tuple[str, str], Say] = {
    ("sts", "GetCallerIdentity"): {"Account": "111122223333"},
    ("ce", "ListCostAllocationTags"): {
        "CostAllocationTags": [
            {"TagKey": f"inferfab-{key}", "Status": "Active"}
            for key in ("environment", "owner", "cell", "pool", "tier")
        ]
    },
    ("iam", "GetRole"): {"Role": {}},
    ("iam", "SimulatePrincipalPolicy"): allowed,
    ("service-quotas", "GetServiceQuota"): quota,
    ("ec2", "DescribeInstances"): {"Reservations": []},
    ("ec2", "DescribeAddresses"): {"Addresses": []},
    ("ec2", "DescribeVpcs"): {"Vpcs": []},
    ("ec2", "DescribeSubnets"): {"Subnets": []},
    ("ec2", "DescribeNatGateways"): {"NatGateways": []},
    ("ec2", "DescribeInstanceTypeOfferings"): {
        "InstanceTypeOfferings": [
            {"Location": "us-east-1a", "InstanceType": one} for one in ("p5en.48xlarge", "g6e.12xlarge", "m7i.2xlarge")
        ]
    },
    ("ec2", "DescribeCapacityReservations"): {"CapacityReservations": [RESERVED]},
    ("ec2", "DescribeCapacityReservationTopology"): {
        "CapacityReservations": [
            {"CapacityReservationId": RESERVATION, "NetworkNodes": ["nn-top", "nn-middle", "nn-leaf"]}
        ]
    },
    ("elbv2", "DescribeLoadBalancers"): {"LoadBalancers": []},
    ("elbv2", "DescribeTargetGroups"): {"TargetGroups": []},
    ("eks", "ListClusters"): {"clusters": []},
    ("eks", "DescribeClusterVersions"): {
        "clusterVersions": [
            {
                "clusterVersion": "1.36", "endOfStandardSupportDate": datetime(2027, 8, 2, tzinfo=UTC),
                "endOfExtendedSupportDate": datetime(2028, 8, 2, tzinfo=UTC),
            }
        ]
    },
    ("ssm", "GetParameter"): {"Parameter": {"Value": "1.36.1-20261014"}},
    ("route53", "ListHostedZonesByName"): {
        "HostedZones": [{"Id": "/hostedzone/Z1", "Name": "llm.example.com.", "Config": {"PrivateZone": False}}]
    },
    ("route53", "GetHostedZone"): {"DelegationSet": {"NameServers": SERVERS}},
    ("s3", "HeadBucket"): {},
    ("s3", "GetBucketVersioning"): {"Status": "Enabled"},
    ("s3", "GetBucketEncryption"): {
        "ServerSideEncryptionConfiguration": {
            "Rules": [{"ApplyServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms"}}]
        }
    },
    ("s3", "ListObjectsV2"): lambda **asked: {"Contents": [{"Key": asked["Prefix"]}]},
    ("secretsmanager", "DescribeSecret"): {"VersionIdsToStages": {"1": ["AWSCURRENT"]}},
}  # fmt: skip
"""An account in which nothing is missing but spot vCPUs."""


class FakeReader:
    """Answers from a table; a call that is not in it, or not among the reads, is a fault of the test."""

    def __init__(self, answers: Mapping[tuple[str, str], Say]) -> None:
        self.answers = answers
        self.calls: list[tuple[str, str, str | None, dict[str, Any]]] = []

    def read(self, service: str, operation: str, region: str | None = None, **asked: Any) -> Answer:
        assert (service, operation) in READS
        self.calls.append((service, operation, region, asked))
        said = self.answers[(service, operation)]
        if isinstance(said, Exception):
            raise said
        return said(**asked) if callable(said) else said


class FakeResolver:
    def __init__(self, *servers: str, fails: bool = False) -> None:
        self.servers, self.fails = servers, fails

    def name_servers(self, zone: str) -> tuple[str, ...]:
        if self.fails:
            raise ReadFailed("the DNS resolver 192.0.2.1 does not answer")
        return self.servers


def report(
    changed: Mapping[tuple[str, str], Say] | None = None,
    *,
    text: str = CHAT,
    resolver: FakeResolver | None = None,
    as_of: date = AS_OF,
    **more: Any,
) -> Report:
    """Of the whole account with some answers changed."""
    reader = FakeReader({**WHOLE, **(changed or {})})
    return preflight(fleet_of(text), reader, as_of=as_of, resolver=resolver or FakeResolver(*SERVERS), **more)


def denied(permission: str) -> Denied:
    return Denied(permission)


def row(found: Report, area: str, what: str = "", where: str = "") -> Row:
    """The one row of an area whose subject holds a word."""
    hits = [r for r in found.rows if r.area == area and what in r.what and where in r.where]
    assert len(hits) == 1, [(r.area, r.where, r.what, r.found) for r in found.rows if r.area == area]
    return hits[0]
