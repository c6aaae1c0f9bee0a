"""Environments over several accounts: names, models and tags. Expectations: AWS's guides on cross-account access."""

import json
from typing import Any

import pytest
import yaml
from synthesized import Document, at, body_of, changed, every, fleet, plan_of, stacks

from inferfab import check, load_text
from inferfab.render.gateway.files import gateway_files

OURS, DNS = "111122223333", "arn:aws:iam::123456789012:role/inferfab-dns"
READER = f"arn:aws:iam::{OURS}:role/shared-use1-a-models"
KEY = "arn:aws:kms:us-east-1:210987654321:key/1234abcd-12ab-34cd-56ef-1234567890ab"


@pytest.fixture(scope="module")
def shared() -> dict[str, Document]:
    return dict(stacks("several-accounts"))


def statements(text: str) -> dict[str, dict[str, Any]]:
    return {s["Sid"]: s for s in json.loads(text)["Statement"]}


def test_records_are_written_under_the_zones_account(shared: dict[str, Document]) -> None:
    """One more provider, which takes the role on and refuses any other account; zone and records use it."""
    document = shared["shared-global"]
    default, dns = document["provider"]["aws"]
    assert dns["alias"] == "dns"
    assert dns["assume_role"] == [{"role_arn": DNS, "session_name": "inferfab-shared"}]
    assert dns["allowed_account_ids"] == ["123456789012"]
    assert default["allowed_account_ids"] == [OURS]
    records = [body for _, body in every({"": document}, "aws_route53_record")]
    zones = [body for _, body in every({"": document}, "aws_route53_zone", "data")]
    assert len(records) >= 2 and len(zones) == 1
    assert {body["provider"] for body in (*records, *zones)} == {"aws.dns"}


def test_checks_and_alarms_stay_ours() -> None:
    """Route 53 takes a check of another account for a record, and reads alarms of the check's own account only.

    Source: repost.aws/knowledge-center/route-53-cross-account-health-checks.
    """
    body = body_of("prod")
    body["accounts"]["aws"]["dns_role"] = DNS
    document = changed(body)["prod-global"]
    for type_ in ("aws_route53_health_check", "aws_cloudwatch_metric_alarm"):
        found = [body for _, body in every({"": document}, type_)]
        assert found and not [body for body in found if "provider" in body]


def test_a_zone_of_ours_needs_no_second_provider() -> None:
    document = stacks("prod")["prod-global"]
    assert len(document["provider"]["aws"]) == 1
    assert not [b for _, b in every({"": document}, "aws_route53_record") if "provider" in b]


def test_somebody_elses_bucket_stays_as_it_is(shared: dict[str, Document]) -> None:
    """The region's stack makes no bucket and no key for models; only the topic's key is left."""
    document = shared["shared-us-east-1-region"]
    assert not list(every({"": document}, "aws_s3_bucket"))
    assert [body["name"] for _, body in every({"": document}, "aws_kms_alias")] == ["alias/shared-alerts"]


def test_the_reader_may_read_it(shared: dict[str, Document]) -> None:
    """Its own half: the bucket's folder of the pinned revision, and the key through S3 alone."""
    policies = [
        b for p, b in every({"": shared["shared-use1-a-foundation"]}, "aws_iam_role_policy") if "model-reader" in p
    ]
    (policy,) = (statements(body["policy"]) for body in policies)
    prefix = "models/qwen3-8b/9c925d64d72725edaf899c6cb9c377fd0709d9c5/"
    assert f"arn:aws:s3:::shared-models/{prefix}*" in policy["Read"]["Resource"]
    assert policy["UseKey"] == {
        "Sid": "UseKey",
        "Effect": "Allow",
        "Action": ["kms:Decrypt"],
        "Resource": KEY,
        "Condition": {"StringEquals": {"kms:ViaService": "s3.us-east-1.amazonaws.com"}},
    }


def test_the_owner_reads_what_to_allow(shared: dict[str, Document]) -> None:
    """The other half is the owner's: statements for bucket and key, by a condition on the reader's role."""
    outputs = shared["shared-us-east-1-region"]["output"]
    bucket = statements(outputs["model_bucket_policy"]["value"])
    key = statements(outputs["model_key_policy"]["value"])
    for statement in (*bucket.values(), *key.values()):
        assert statement["Principal"] == {"AWS": f"arn:aws:iam::{OURS}:root"}
        assert statement["Condition"]["ArnEquals"] == {"aws:PrincipalArn": [READER]}
    assert set(bucket) == {"InferfabList", "InferfabRead"}
    assert bucket["InferfabRead"]["Action"] == "s3:GetObject"
    assert not [r for r in bucket["InferfabRead"]["Resource"] if r.endswith(":::shared-models/*")]
    assert key["InferfabDecrypt"]["Action"] == "kms:Decrypt"


def test_a_bucket_of_ours_has_no_outputs() -> None:
    assert "output" not in stacks("prod")["prod-us-east-1-region"]


def test_tags_of_the_cost_team() -> None:
    """On groups, instances, disks and interfaces: the environment's own, and cell, pool, role and tier."""
    document = stacks("prod")["prod-use1-a-foundation"]
    group = at(document, "aws_eks_node_group", "prod-use1-a-foundation/documents/group")
    template = at(document, "aws_launch_template", "prod-use1-a-foundation/documents/template/template")
    expected = {
        "cost-center": "inference",
        "data-class": "confidential",
        "inferfab-environment": "prod",
        "inferfab-owner": "ml-platform",
        "inferfab-cell": "use1-a",
        "inferfab-pool": "documents",
        "inferfab-role": "worker",
        "inferfab-tier": "standard",
    }
    assert expected.items() <= group["tags"].items()
    launched = {t["resource_type"]: t["tags"] for t in template["tag_specifications"]}
    assert set(launched) == {"instance", "volume", "network-interface"}
    for tags in launched.values():
        assert expected.items() <= tags.items()
    defaults = document["provider"]["aws"][0]["default_tags"][0]["tags"]
    assert {"cost-center", "inferfab-environment", "inferfab-owner"} <= set(defaults)


def test_volumes_that_the_cluster_makes_have_them_too() -> None:
    """The EBS driver makes volumes by itself; its chart calls further tags `controller.extraVolumeTags`."""
    document = stacks("prod")["prod-use1-a-foundation"]
    addons = [b for _, b in every({"": document}, "aws_eks_addon") if b["addon_name"] == "aws-ebs-csi-driver"]
    (settings,) = (json.loads(body["configuration_values"]) for body in addons)
    tags = settings["controller"]["extraVolumeTags"]
    assert tags["cost-center"] == "inference"
    assert tags["inferfab-cell"] == "use1-a"


def test_what_no_cell_uses_is_said() -> None:
    body = body_of("several-accounts")
    account = body["accounts"]["aws"]
    account["model_buckets"]["eu-west-1"] = dict(account["model_buckets"]["us-east-1"])
    del body["routing"]
    found = {f.dotted_path: f.what for f in check(load_text(yaml.safe_dump(body))).findings if f.rule == "IF-REF-006"}
    assert "accounts.aws.model_buckets.eu-west-1" in found
    assert "accounts.aws.dns_role" in found


def test_the_plan_of_an_adopted_bucket_reads_back() -> None:
    from inferfab import read_plan

    plan = fleet("several-accounts")
    assert read_plan(plan.to_json()) == plan
    (region,) = plan.aws_regions
    assert (region.model_bucket, region.model_bucket_made) == ("shared-models", False)


CERTIFICATES = "arn:aws:iam::123456789012:role/inferfab-certificates"
CERT_MANAGER = f"arn:aws:iam::{OURS}:role/shared-use1-a-certificates"


def acme(**tls: str) -> dict[str, Document]:
    body = body_of("several-accounts")
    body["gateway"] = {"tls": {"kind": "acme", "email": "ml@example.com", **tls}}
    return changed(body)


def issuer(body: dict[str, Any]) -> dict[str, Any]:
    text = gateway_files(plan_of(yaml.safe_dump(body)).cells[0])["certificates.yaml"]
    solver: dict[str, Any] = next(iter(yaml.safe_load_all(text)))["spec"]["acme"]["solvers"][0]["dns01"]["route53"]
    return solver


def test_cert_manager_takes_on_the_zones_role() -> None:
    """cert-manager, Route 53: `role` in the solver, and the controller's own right to take it on; with it nothing else.

    `sts:TagSession` too: session tags of Pod Identity are transitive (EKS user guide).
    """
    documents = acme()
    policies = [
        statements(b["policy"])
        for p, b in every({"": documents["shared-use1-a-foundation"]}, "aws_iam_role_policy")
        if "controllers/certificates" in p
    ]
    assert policies == [
        {
            "TakeZoneRole": {
                "Sid": "TakeZoneRole",
                "Effect": "Allow",
                "Action": ["sts:AssumeRole", "sts:TagSession"],
                "Resource": DNS,
            }
        }
    ]
    body = body_of("several-accounts")
    body["gateway"] = {"tls": {"kind": "acme", "email": "ml@example.com"}}
    assert issuer(body) == {"region": "us-east-1", "role": DNS}
    body["gateway"]["tls"]["dns_role"] = CERTIFICATES
    assert issuer(body)["role"] == CERTIFICATES, "a smaller role than the one that writes all records"


def test_the_zones_owner_reads_what_to_trust_and_allow() -> None:
    """By a condition on the role, so that it may be entered before the role is there; challenge records only."""
    outputs = acme()["shared-global"]["output"]
    trust = statements(outputs["certificate_role_trust"]["value"])["InferfabCertificates"]
    assert trust["Principal"] == {"AWS": f"arn:aws:iam::{OURS}:root"}
    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert trust["Condition"] == {"ArnEquals": {"aws:PrincipalArn": [CERT_MANAGER]}}
    allowed = statements(outputs["certificate_role_policy"]["value"])
    assert {action for s in allowed.values() for action in s["Action"]} == {
        "route53:ListHostedZonesByName", "route53:GetChange", "route53:ListResourceRecordSets",
        "route53:ChangeResourceRecordSets",
    }  # fmt: skip
    names = allowed["Prove"]["Condition"]["ForAllValues:StringEquals"]
    assert names["route53:ChangeResourceRecordSetsNormalizedRecordNames"] == [
        "_acme-challenge.standard.llm.example.com", "_acme-challenge.use1-a.llm.example.com",
    ]  # fmt: skip


def test_a_zone_of_ours_needs_no_role() -> None:
    assert "role" not in issuer(body_of("prod"))
    assert "certificate_role_trust" not in stacks("prod")["prod-global"].get("output", {})
