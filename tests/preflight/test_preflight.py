"""Preflight over an account made of answers: what each says, what it does to the plan, and what is never asked."""

import json
import re
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from inferfab import check
from inferfab.plan.observed import Observed, ObservedReservation, read_observed, with_observed
from inferfab.preflight.preflight import WrongAccount, preflight
from inferfab.preflight.reader import NoCredentials, ReadFailed
from inferfab.preflight.reads import READS, policy
from inferfab.preflight.stores import store_probes
from inferfab.render.releases import cell_releases

from .account import (
    AS_OF,
    CHAT,
    RESERVATION,
    RESERVED,
    SERVERS,
    WHOLE,
    FakeReader,
    FakeResolver,
    denied,
    fleet_of,
    not_there,
    report,
    row,
)


def test_reads_and_nothing_else() -> None:
    """Of every call in the list the name itself says that it reads; the values of secrets and objects are not in it."""
    for service, operation in READS:
        assert re.match(r"(Describe|Get|List|Head|Simulate)[A-Z]", operation), (service, operation)
        assert operation not in ("GetSecretValue", "GetObject", "GetFederationToken", "GetSessionToken")
    actions = json.loads(policy())["Statement"][0]["Action"]
    assert actions == sorted({action for action in READS.values() if action})
    assert not [action for action in actions if re.search(r":(Create|Put|Delete|Update|Modify|Run|Start|Pass)", action)]


def test_quotas_are_held_against_the_plan_at_max() -> None:
    """4 nodes of p5en at max are 4 x 192 vCPUs, all that 768 allow; 4 of g6e.12xlarge on spot 4 x 48 = 192."""
    found = report()
    assert row(found, "quota", "Running On-Demand P").needed == "768 vCPUs at max"
    assert row(found, "quota", "Running On-Demand P").status == "ok"
    spot = row(found, "quota", "All G and VT Spot")
    assert (spot.needed, spot.found, spot.status) == ("192 vCPUs at max", "192 granted", "ok")
    assert found.observed.quotas["aws:us-east-1:vcpu_on_demand_p"] == 768.0


def test_others_in_the_account_count_too() -> None:
    """One p5 of others: 96 cores of two threads. Ours are told by their tag; spot and blocks count elsewhere."""

    def instance(type: str, tag: str, **more: Any) -> dict[str, Any]:
        return {
            "InstanceType": type,
            "CpuOptions": {"CoreCount": 96, "ThreadsPerCore": 2},
            "Tags": [{"Key": "inferfab-environment", "Value": tag}],
            **more,
        }

    running = [
        instance("p5.48xlarge", "other"),
        instance("p5en.48xlarge", "shop"),
        instance("p5.48xlarge", "other", InstanceLifecycle="spot"),
        instance("p5.48xlarge", "other", InstanceLifecycle="capacity-block"),
        instance("m7i.large", "other"),
    ]
    found = row(report({("ec2", "DescribeInstances"): {"Reservations": [{"Instances": running}]}}), "quota", "Demand P")
    assert found.status == "missing"
    assert found.found == "768 granted; others in the account use 192"
    assert found.do == (
        "aws service-quotas request-service-quota-increase --region us-east-1 --service-code ec2 "
        "--quota-code L-417A185B --desired-value 960"
    )


def test_a_quota_that_the_account_never_had_is_awss_default() -> None:
    changed = {
        ("service-quotas", "GetServiceQuota"): not_there("NoSuchResourceException"),
        ("service-quotas", "GetAWSDefaultServiceQuota"): {"Quota": {"Value": 1}},
    }
    assert row(report(changed), "quota", "Demand P").found == "1 granted"


def test_what_is_refused_is_unknown_and_names_its_permission() -> None:
    """One refusal makes one thing unknown; the rest is still looked at. Exit code and verdict stay fine."""
    found = report({("ec2", "DescribeInstanceTypeOfferings"): denied("ec2:DescribeInstanceTypeOfferings")})
    refused = row(found, "offering")
    assert refused.status == "unknown"
    assert "ec2:DescribeInstanceTypeOfferings" in refused.found
    assert "inferfab preflight --policy" in refused.do
    assert "aws ec2 describe-instance-type-offerings" in refused.do
    assert found.ok
    whole = report({key: denied(READS[key] or "sts") for key in WHOLE if key[0] != "sts"})
    assert {r.status for r in whole.rows if r.area != "account"} == {"unknown"}
    # Who sees nothing has found nothing good either.
    assert whole.blind and not whole.ok


def test_credentials_of_nobody_knows_whom_are_refused() -> None:
    with pytest.raises(WrongAccount, match="STS does not say"):
        report({("sts", "GetCallerIdentity"): ReadFailed("sts in us-east-1 does not answer")})


def test_use_that_may_not_be_counted_leaves_the_quota_unknown() -> None:
    """Enough is granted for ours; whether others use it is not known."""
    found = row(report({("ec2", "DescribeVpcs"): denied("ec2:DescribeVpcs")}), "quota", "VPCs")
    assert found.status == "unknown"
    assert "ec2:DescribeVpcs" in found.found


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"TotalInstanceCount": 3}, "holds 3 machines, and the plan takes 4 at max"),
        ({"AvailabilityZone": "us-east-1b"}, "it is in us-east-1b"),
        ({"InstanceType": "p5.48xlarge"}, "it holds p5.48xlarge"),
        ({"State": "expired"}, "it is expired"),
        ({"EndDateType": "limited", "EndDate": datetime(2026, 11, 30, tzinfo=UTC)}, "which is over on 2026-11-30"),
        ({"ReservationType": "capacity-block"}, "it is a capacity block"),
    ],
)
def test_reservations_that_do_not_fit(change: dict[str, Any], says: str) -> None:
    found = report({("ec2", "DescribeCapacityReservations"): {"CapacityReservations": [{**RESERVED, **change}]}})
    assert row(found, "reservation").status == "missing"
    assert says in row(found, "reservation").found


def test_a_reservation_that_is_too_small_is_made_larger() -> None:
    small = {("ec2", "DescribeCapacityReservations"): {"CapacityReservations": [{**RESERVED, "TotalInstanceCount": 2}]}}
    assert row(report(small), "reservation").do == (
        f"aws ec2 modify-capacity-reservation --region us-east-1 --capacity-reservation-id {RESERVATION} "
        "--instance-count 4"
    )


def test_a_reservation_that_is_not_there() -> None:
    found = report({("ec2", "DescribeCapacityReservations"): not_there("InvalidCapacityReservationId.NotFound")})
    assert row(found, "reservation").status == "missing"
    assert "--instance-count 4" in row(found, "reservation").do
    assert found.observed.reservations[RESERVATION].state == "not found"


def test_a_block_is_over_by_the_day_that_is_asked_for() -> None:
    """The window counts against --as-of, not against the clock; and its end must be the file's."""
    text = CHAT.replace(
        "capacity: {kind: reservation, id: cr-0a1b2c3d4e5f60001}",
        'capacity: {kind: capacity_block, id: cr-0a1b2c3d4e5f60001, ends_at: "2026-12-10T11:30:00Z"}',
    )
    block = {
        **RESERVED,
        "ReservationType": "capacity-block",
        "EndDateType": "limited",
        "EndDate": datetime(2026, 12, 10, 11, 30, tzinfo=UTC),
    }
    answers = {("ec2", "DescribeCapacityReservations"): {"CapacityReservations": [block]}}
    now = row(report(answers, text=text), "reservation")
    assert (now.status, now.found) == ("ok", "active, 3 of 4 free, ends 2026-12-10T11:30:00Z (in 10 days)")
    assert row(report(answers, text=text, as_of=date(2026, 12, 11)), "reservation").status == "missing"
    future = {**block, "State": "scheduled", "StartDate": datetime(2026, 12, 3, 11, 30, tzinfo=UTC)}
    later = report({("ec2", "DescribeCapacityReservations"): {"CapacityReservations": [future]}}, text=text)
    assert "scheduled, 3 of 4 free, starts 2026-12-03T11:30:00Z" in row(later, "reservation").found
    other = {
        ("ec2", "DescribeCapacityReservations"): {
            "CapacityReservations": [{**block, "EndDate": datetime(2026, 12, 9, tzinfo=UTC)}]
        }
    }
    assert "the file says 2026-12-10T11:30:00Z" in row(report(other, text=text), "reservation").found


def test_locality_is_known_before_launch() -> None:
    """p5en reports 3 layers; a reservation with all three shared stands in one place, and `required` can be kept."""
    found = report()
    assert found.observed.reservation_topology == {RESERVATION: ("nn-top", "nn-middle", "nn-leaf")}
    assert "layer 3 of 3 is shared (nn-leaf): all of it in one place" in row(found, "locality").found
    near = with_observed(fleet_of(), found.observed).cells[0].locality
    assert near is not None
    (chat,) = near.before_launch
    assert (chat.pool, chat.layer, chat.layers, chat.network_node) == ("chat", 3, 3, "nn-leaf")
    assert any("under one network node of layer 3 of 3" in line for line in near.guaranteed)


def test_the_plan_shows_what_was_seen() -> None:
    """Quotas beside what is needed; names out of the file are text, whatever they hold."""
    from inferfab.cli.output import rendered
    from inferfab.render.text.plan_tables import print_plan

    topology = {RESERVATION: ("a", "b", "[bold]nn\x1b[31m")}
    seen = report().observed.model_copy(update={"reservation_topology": topology})
    shown = rendered(lambda c: print_plan(c, with_observed(fleet_of(), seen)), colour=False)
    line = next(one for one in shown.splitlines() if "Running On-Demand P instances" in one)
    assert line.split()[-4:] == ["384", "768", "0", "768"]
    assert "\x1b" not in shown and "[bold]nn" in shown
    assert "Quotas, as seen" not in rendered(lambda c: print_plan(c, fleet_of()), colour=False)


def test_a_pool_in_two_reservations_is_not_near() -> None:
    seen = Observed(as_of=AS_OF, quotas={}, reservation_topology={"cr-other": ("nn-top",)})
    near = with_observed(fleet_of(), seen).cells[0].locality
    assert near is not None and near.before_launch == ()


def test_kubernetes_versions_and_images() -> None:
    found = report()
    assert row(found, "kubernetes").found == "standard support until 2027-08-02, extended until 2028-08-02"
    assert row(found, "image", "nvidia").found == "1.36.1-20261014 today"
    over = report(as_of=date(2027, 8, 3))
    assert row(over, "kubernetes").status == "missing"
    assert row(report(as_of=date(2027, 7, 1)), "kubernetes").do.endswith("in 32 days")
    none = report({("eks", "DescribeClusterVersions"): {"clusterVersions": []}})
    assert row(none, "kubernetes").found == "EKS does not offer it"


def test_a_pinned_image_is_looked_up_by_name() -> None:
    """amazon-eks-node-al2023-x86_64-nvidia-1.36-v20260901: the name that EKS gives its images."""
    text = CHAT.replace("    network: {kind", "    cluster: {ami_release: 1.36.0-20260901}\n    network: {kind")
    asked: list[str] = []

    def images(**words: Any) -> dict[str, Any]:
        asked.extend(words["Filters"][0]["Values"])
        return {"Images": [{"DeprecationTime": "2028-09-01T00:00:00.000Z"}] if "nvidia" in asked[-1] else []}

    found = report({("ec2", "DescribeImages"): images}, text=text)
    assert sorted(asked)[0] == "amazon-eks-node-al2023-x86_64-nvidia-1.36-v20260901"
    assert row(found, "image", "nvidia").found == "there, deprecated on 2028-09-01, 1.36.1-20261014 is newest"
    assert row(found, "image", "standard").status == "missing"


def test_roles() -> None:
    """Of the service-linked roles only those that AWS does not make by itself can be missing."""

    def roles(**asked: Any) -> dict[str, Any]:
        if asked["RoleName"].startswith("AWSServiceRole"):
            raise not_there("NoSuchEntity")
        return {"Role": {}}

    found = report({("iam", "GetRole"): roles})
    missing = {r.what: r.do for r in found.rows if r.area == "role" and r.status == "missing"}
    assert missing == {
        "service-linked role AWSServiceRoleForAutoScaling":
            "aws iam create-service-linked-role --aws-service-name autoscaling.amazonaws.com",
        "service-linked role AWSServiceRoleForEC2Spot":
            "aws iam create-service-linked-role --aws-service-name spot.amazonaws.com",
    }  # fmt: skip


def test_permissions_are_simulated() -> None:
    """A refusal over every resource is not yet a refusal of the real request, so it is unknown, and named."""

    def simulated(**asked: Any) -> dict[str, Any]:
        assert asked["PolicySourceArn"] == "arn:aws:iam::111122223333:role/inferfab-deploy"
        carried = {one["ContextKeyName"]: one["ContextKeyValues"] for one in asked["ContextEntries"]}
        assert carried["aws:RequestedRegion"] == ["us-east-1"]
        return {
            "EvaluationResults": [
                {"EvalActionName": a, "EvalDecision": "implicitDeny" if a == "eks:CreateCluster" else "allowed"}
                for a in asked["ActionNames"]
            ]
        }

    found = report({("iam", "SimulatePrincipalPolicy"): simulated})
    refused = [r for r in found.rows if r.area == "permission" and r.status == "unknown"]
    assert [r.found for r in refused] == ["not on every resource: eks:CreateCluster"]


def test_cost_tags() -> None:
    """The budget counts by a tag, and reads zero until the payer has activated it."""
    assert row(report(), "account", "cost").status == "ok"
    off = [{"TagKey": "inferfab-environment", "Status": "Inactive"}]
    found = row(report({("ce", "ListCostAllocationTags"): {"CostAllocationTags": off}}), "account", "cost")
    assert found.status == "missing"
    assert found.do.endswith("TagKey=inferfab-environment,Status=Active")
    none = row(report({("ce", "ListCostAllocationTags"): {}}), "account", "cost")
    assert none.status == "unknown"


def test_names() -> None:
    """There, public, and delegated to the servers that Route 53 gave it."""
    assert row(report(), "dns").status == "ok"
    assert row(report(resolver=FakeResolver()), "dns").found == "the world does not find it"
    assert SERVERS[0] in row(report(resolver=FakeResolver("ns.elsewhere.example")), "dns").do
    assert row(report(resolver=FakeResolver(fails=True)), "dns").status == "unknown"
    private = [{"Id": "Z", "Name": "llm.example.com.", "Config": {"PrivateZone": True}}]
    only = report({("route53", "ListHostedZonesByName"): {"HostedZones": private}})
    assert row(only, "dns").found == "only a private zone has the name"


def test_stores_and_secrets() -> None:
    gone = report({
        ("s3", "HeadBucket"): not_there("404"),
        ("s3", "ListObjectsV2"): not_there("NoSuchBucket"),
        ("secretsmanager", "DescribeSecret"): not_there("ResourceNotFoundException"),
    })  # fmt: skip
    assert row(gone, "state").do == "inferfab bootstrap shop"
    # Made by the region's stack; the model may come from the hub.
    assert row(gone, "model").status == "ok"
    assert row(gone, "secret").do == (
        "aws secretsmanager create-secret --region us-east-1 --name hf-token --secret-string file:///dev/stdin"
    )
    bare = report({("s3", "GetBucketVersioning"): {}})
    assert row(bare, "state").status == "missing"
    assert "put-bucket-versioning" in row(bare, "state").do


@pytest.mark.parametrize("name", ["dev", "staging", "prod", "prod-hybrid"])
def test_every_secret_that_a_cluster_reads_is_looked_for(name: str) -> None:
    """What the cells' ExternalSecrets name, tokens and tenants' keys: each a row in each region that reads it."""
    checked = check(Path(__file__).parents[2] / "environments" / f"{name}.yaml")
    assert checked.plan is not None
    read = {
        (cell.region, key)
        for cell in checked.plan.cells
        for release in cell_releases(checked.plan, cell)
        for text in release.files.values()
        for body in yaml.load_all(text, Loader=yaml.CSafeLoader)
        if body and body["kind"] == "ExternalSecret"
        for key in (one["remoteRef"]["key"] for one in body["spec"]["data"])
    }
    looked_for = {(p.where, p.what) for p in store_probes(checked.plan, FakeReader({})) if p.area == "secret"}
    assert looked_for == read
    assert any("/tenants/" in key for _, key in read), "no environment without tenants proves anything here"


def test_a_model_that_only_the_store_can_give() -> None:
    """Without a way out the hub is no help: the mark must be there."""
    text = CHAT.replace("cidr: 10.16.0.0/16}", "cidr: 10.16.0.0/16, egress: none}")
    there = report(text=text)
    prefix = "models/llama-8b/0e9e39f249a16976918f6564b8830bc894c89659/.complete"
    assert row(there, "model").found == "complete in the store"
    assert row(there, "model").needed.endswith(prefix)
    empty = report({("s3", "ListObjectsV2"): {}}, text=text)
    assert row(empty, "model").status == "missing"
    assert row(empty, "model").do.endswith(f"--key {prefix}")


class FakeHub:
    def __init__(self, access: str, *, token: bool = True) -> None:
        self.has_token, self._access = token, access
        self.asked: list[tuple[str, str]] = []

    def access(self, source: str, revision: str) -> Any:
        self.asked.append((source, revision))
        return self._access


@pytest.mark.parametrize(
    ("access", "token", "status"),
    [
        ("readable", True, "ok"),
        ("refused", True, "missing"),
        ("refused", False, "unknown"),
        ("no such model", True, "missing"),
    ],
)
def test_licences(access: str, token: bool, status: str) -> None:
    hub = FakeHub(access, token=token)
    assert row(report(hub=hub), "licence").status == status
    assert hub.asked == [("meta-llama/Llama-3.1-8B-Instruct", "0e9e39f249a16976918f6564b8830bc894c89659")]


def test_licences_are_not_asked_for_unless_wanted() -> None:
    assert row(report(), "licence").status == "unknown"
    assert "--hub" in row(report(), "licence").do


def test_the_wrong_account_is_refused_at_once() -> None:
    """Whatever else stood in the report would be of somebody else."""
    reader = FakeReader({**WHOLE, ("sts", "GetCallerIdentity"): {"Account": "123456789012"}})
    with pytest.raises(WrongAccount, match="123456789012"):
        preflight(fleet_of(), reader, as_of=AS_OF, resolver=FakeResolver())
    assert len(reader.calls) == 1


def test_no_credentials_end_everything() -> None:
    with pytest.raises(NoCredentials):
        report({("ec2", "DescribeVpcs"): NoCredentials("there are no AWS credentials")})


def test_google_cells_say_what_to_run() -> None:
    text = CHAT.split("pools:")[0].replace("accounts: {aws: {account_id: \"111122223333\"}}",
                                           "accounts: {gcp: {project: our-project}}")  # fmt: skip
    text += """pools:
  chat: {topology: aggregated, tier: batch, model: llama-8b, instance: a3-ultragpu-8g,
         capacity: {kind: reservation, id: ours}, worker: {replicas: {min: 1, desired: 1, max: 8}}}
cells:
  c: {cloud: gcp, region: us-central1, zone: us-central1-b, network: {kind: new, cidr: 10.1.0.0/16}, pools: {chat: {}}}
"""
    found = preflight(fleet_of(text), None, as_of=AS_OF, resolver=FakeResolver())
    assert {r.status for r in found.rows} == {"unknown"}
    assert row(found, "google", "reservation ours").do == (
        "gcloud compute reservations describe ours --zone us-central1-b --project our-project"
    )
    assert row(found, "google", "quota").needed == "8 at max"


def test_what_was_seen_reads_back() -> None:
    """As its own file, and out of the whole report."""
    found = report()
    assert read_observed(found.observed.model_dump_json()) == found.observed
    assert read_observed(found.model_dump_json()) == found.observed
    assert found.observed.reservations[RESERVATION] == ObservedReservation(
        state="active", instance="p5en.48xlarge", zone="us-east-1a", count=4, available=3,
        starts_at=datetime(2026, 10, 1, tzinfo=UTC),
    )  # fmt: skip


def test_progress_counts_every_question() -> None:
    told: list[tuple[int, int]] = []
    report(progress=lambda done, whole, _: told.append((done, whole)))
    assert [done for done, _ in told] == list(range(1, told[0][1] + 1))


class NothingAllowed:
    """An account whose credentials may ask nothing but whose they are, which nobody can forbid."""

    def __init__(self, account_id: str) -> None:
        self._account_id = account_id

    def read(self, service: str, operation: str, region: str | None = None, **_: Any) -> Any:
        if service == "sts":
            return {"Account": self._account_id}
        raise denied(READS[(service, operation)] or f"{service}:{operation}")


@pytest.mark.parametrize("name", ["dev", "staging", "prod", "prod-gcp", "prod-global", "prod-hybrid"])
def test_of_every_environment_all_is_unknown_where_nothing_may_be_asked(name: str) -> None:
    """No traceback whatever the fleet is made of, and each row says what to do."""
    text = (Path(__file__).parents[2] / "environments" / f"{name}.yaml").read_text(encoding="utf-8")
    fleet = fleet_of(text)
    account = fleet.ownership.accounts.aws
    reader = NothingAllowed(account.account_id) if account else None
    found = preflight(fleet, reader, as_of=AS_OF, resolver=FakeResolver())
    assert found.rows and found.ok == (account is None)
    known = [r for r in found.rows if r.status != "unknown" and r.what != "AWS account"]
    # What needs no question: a reservation of a machine that tells no place.
    assert {r.area for r in known} <= {"locality"}
    assert all(r.do for r in found.rows if r.status == "unknown")
    assert with_observed(fleet, found.observed).observed == found.observed


def test_every_resource_type_has_its_actions() -> None:
    """Of all stacks of all shipped environments; and every action is written as IAM writes one."""
    from inferfab.catalog.deploy_actions import deploy_actions

    lists = (Path(__file__).parents[1] / "stacks" / "addresses").glob("*.txt")
    lines = [line for path in lists for line in path.read_text(encoding="utf-8").splitlines()]
    used = {line.split()[1].partition(".")[0] for line in lines}
    assert {t for t in used if t.startswith("aws_")} <= set(deploy_actions())
    for actions in deploy_actions().values():
        assert all(re.fullmatch(r"[a-z0-9]+:[A-Z][A-Za-z0-9]+", action) for action in actions)
