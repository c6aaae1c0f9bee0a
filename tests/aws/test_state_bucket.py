"""State bucket and the role that reaches it. Expectations: docs of Terraform's S3 backend and of the AWS provider."""

import json

import pytest
from pydantic import ValidationError

from inferfab.aws.deploy_role import DeployRole, DeployRoleSpec
from inferfab.aws.state_bucket import StateBucket, StateBucketSpec

from .samples_global import DEPLOY, STATE
from .synth_global import address, only, resources, stack_json, statements

BUCKET = "arn:aws:s3:::inferfab-state-111122223333-prod"


@pytest.fixture(scope="module")
def state() -> dict[str, object]:
    return dict(stack_json(lambda stack: StateBucket(stack, "state", STATE)))


@pytest.fixture(scope="module")
def deploy() -> dict[str, object]:
    return dict(stack_json(lambda stack: DeployRole(stack, "deploy", DEPLOY)))


def test_bucket_and_key_cannot_be_destroyed(state: dict[str, object]) -> None:
    """A lost state is a lost fleet: Terraform refuses to destroy bucket and key."""
    assert only(state, "aws_s3_bucket")["lifecycle"] == {"prevent_destroy": True}
    assert only(state, "aws_kms_key")["lifecycle"] == {"prevent_destroy": True}


def test_versions_are_kept(state: dict[str, object]) -> None:
    """Versioning is on; a year, and the newest 50 whatever their age."""
    assert only(state, "aws_s3_bucket_versioning")["versioning_configuration"] == {"status": "Enabled"}
    rules = only(state, "aws_s3_bucket_lifecycle_configuration")["rule"]
    assert [rule["id"] for rule in rules] == ["uploads", "noncurrent"]
    assert rules[1]["noncurrent_version_expiration"] == [{"noncurrent_days": 365, "newer_noncurrent_versions": 50}]
    # Nothing expires the current version.
    assert not any("expiration" in rule for rule in rules)


def test_objects_are_encrypted_with_our_key(state: dict[str, object]) -> None:
    """The default encryption is KMS with the key that the alias names, rotated."""
    key = only(state, "aws_kms_key")
    (rule,) = only(state, "aws_s3_bucket_server_side_encryption_configuration")["rule"]
    assert rule["apply_server_side_encryption_by_default"] == {
        "sse_algorithm": "aws:kms",
        "kms_master_key_id": f"${{{address(key, 'aws_kms_key')}.arn}}",
    }
    assert key["enable_key_rotation"] is True
    alias = only(state, "aws_kms_alias")
    assert alias["name"] == "alias/inferfab-state-prod"
    assert alias["target_key_id"] == f"${{{address(key, 'aws_kms_key')}.key_id}}"


def test_nothing_is_public(state: dict[str, object]) -> None:
    """All four blocks, and no ACL counts."""
    block = only(state, "aws_s3_bucket_public_access_block")
    names = ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets")
    assert all(block[name] is True for name in names)
    assert only(state, "aws_s3_bucket_ownership_controls")["rule"] == {"object_ownership": "BucketOwnerEnforced"}


def test_only_tls_reaches_it(state: dict[str, object]) -> None:
    """AWS Config's rule s3-bucket-ssl-requests-only: deny everything without SecureTransport, bucket and objects."""
    (deny,) = statements(only(state, "aws_s3_bucket_policy")["policy"]).values()
    assert (deny["Effect"], deny["Principal"], deny["Action"]) == ("Deny", "*", "s3:*")
    assert deny["Condition"] == {"Bool": {"aws:SecureTransport": "false"}}
    bucket = address(only(state, "aws_s3_bucket"), "aws_s3_bucket")
    assert deny["Resource"] == [f"${{{bucket}.arn}}", f"${{{bucket}.arn}}/*"]


def test_the_key_stays_administrable(state: dict[str, object]) -> None:
    """Without the account's own statement AWS refuses the policy, or nobody can change it again."""
    (account,) = statements(only(state, "aws_kms_key")["policy"]).values()
    assert account["Principal"] == {"AWS": "arn:aws:iam::111122223333:root"}
    assert account["Action"] == "kms:*"


def test_access_logs_go_where_the_spec_says() -> None:
    """With a log bucket there is logging, and no reason for its absence."""
    spec = STATE.model_copy(update={"access_log_bucket": "account-access-logs"})
    document = stack_json(lambda stack: StateBucket(stack, "state", spec))
    logging = only(document, "aws_s3_bucket_logging")
    assert logging["target_bucket"] == "account-access-logs"
    assert logging["target_prefix"] == "inferfab-state-111122223333-prod/"
    assert "CKV_AWS_18" not in json.dumps(only(document, "aws_s3_bucket"))


@pytest.mark.parametrize("name", ["Upper-case", "with.dot", "ab", "x" * 64])
def test_bucket_names_that_s3_refuses_are_refused(name: str) -> None:
    """3 to 63 characters, small; and no dots, which break TLS names."""
    with pytest.raises(ValidationError, match="bucket"):
        StateBucketSpec(account_id="111122223333", region="us-east-1", bucket=name, key_alias="alias/x")


def test_the_role_reads_and_writes_state_and_deletes_only_locks(deploy: dict[str, object]) -> None:
    """The S3 backend's permissions with use_lockfile: Get and Put on the state; Delete as well on <key>.tflock."""
    found = statements(only(deploy, "aws_iam_role_policy")["policy"])
    assert found["List"]["Action"] == "s3:ListBucket"
    assert found["List"]["Resource"] == BUCKET
    assert found["State"]["Action"] == ["s3:GetObject", "s3:PutObject"]
    assert found["State"]["Resource"] == f"{BUCKET}/inferfab/prod/*.tfstate"
    assert found["Lock"]["Action"] == ["s3:GetObject", "s3:PutObject", "s3:DeleteObject"]
    assert found["Lock"]["Resource"] == f"{BUCKET}/inferfab/prod/*.tfstate.tflock"


def test_the_role_uses_only_the_states_key(deploy: dict[str, object]) -> None:
    """kms:ResourceAliases leaves the one key that the alias names."""
    key = statements(only(deploy, "aws_iam_role_policy")["policy"])["UseKey"]
    assert key["Action"] == ["kms:Decrypt", "kms:GenerateDataKey"]
    assert key["Resource"] == "arn:aws:kms:us-east-1:111122223333:key/*"
    assert key["Condition"] == {"ForAnyValue:StringEquals": {"kms:ResourceAliases": "alias/inferfab-state-prod"}}


def test_the_role_is_bounded_and_trusts_who_is_named(deploy: dict[str, object]) -> None:
    """A permissions boundary, and a trust without wildcards."""
    role = only(deploy, "aws_iam_role")
    assert role["permissions_boundary"] == "arn:aws:iam::111122223333:policy/inferfab-boundary"
    trust = statements(role["assume_role_policy"])["Deployers"]
    assert trust["Principal"] == {"AWS": ["arn:aws:iam::111122223333:role/ci"]}


def test_a_prefix_with_a_wildcard_is_refused() -> None:
    """It would reach other environments' state."""
    with pytest.raises(ValidationError, match="state_prefix"):
        DeployRoleSpec.model_validate({**DEPLOY.model_dump(), "state_prefix": "inferfab/*/"})


def test_one_prefix_leaves_other_environments_alone(deploy: dict[str, object]) -> None:
    """Every object that the role names is under its own prefix."""
    policy = statements(only(deploy, "aws_iam_role_policy")["policy"])
    objects = [policy[name]["Resource"] for name in ("State", "Lock")]
    assert all(arn.startswith(f"{BUCKET}/inferfab/prod/") for arn in objects)
    assert list(resources(deploy, "aws_iam_role_policy")) == ["deploy/state"]
