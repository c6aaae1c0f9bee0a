"""Model store, its readers, image registry, secrets. Expectations: docs of S3, IAM, EKS, ECR, Secrets Manager."""

import json

import pytest
from pydantic import ValidationError

from inferfab.aws.model_reader import ModelReader
from inferfab.aws.model_store import ModelStore, ModelStoreSpec, registry
from inferfab.aws.registry import Registry, RegistrySpec
from inferfab.aws.secrets import SecretReference, SecretReferences, SecretReferencesSpec
from inferfab.terraform import TerraformStack

from .samples_global import LLAMA, MODELS, QWEN, READER, REGISTRY, SECRETS
from .synth_global import ACCOUNT, address, only, resources, stack_json, statements

BUCKET = "arn:aws:s3:::prod-models-111122223333-us-east-1"
LLAMA_PREFIX = "models/llama-8b/0e9e39f249a16976918f6564b8830bc894c89659/"


def test_the_registry_lists_pinned_revisions_in_order() -> None:
    """The object's text, typed by hand; the order of the spec does not matter."""
    document = stack_json(lambda stack: ModelStore(stack, "models", MODELS))
    entry = only(document, "aws_s3_object")
    assert entry["key"] == "models/registry.json"
    assert entry["content_type"] == "application/json"
    assert json.loads(entry["content"]) == {
        "version": 1,
        "models": [
            {
                "name": "llama-8b",
                "prefix": LLAMA_PREFIX,
                "revision": "0e9e39f249a16976918f6564b8830bc894c89659",
                "source": "meta-llama/Llama-3.1-8B-Instruct",
            },
            {
                "name": "qwen-32b",
                "prefix": "models/qwen-32b/9216db5781bf21249d130ec9da846c4624c16137/",
                "revision": "9216db5781bf21249d130ec9da846c4624c16137",
            },
        ],
    }
    assert registry((LLAMA, QWEN)) == registry((QWEN, LLAMA))


def test_a_cell_that_does_not_own_the_store_creates_nothing() -> None:
    """Cells of a region share the bucket; all but one only name it."""
    found = []

    def build(stack: TerraformStack) -> None:
        found.append(ModelStore(stack, "models", MODELS.model_copy(update={"create": False})))

    assert "resource" not in stack_json(build)
    assert found[0].bucket_name == "prod-models-111122223333-us-east-1"
    assert found[0].bucket_arn == BUCKET


def test_deleted_weights_come_back_for_a_month_and_broken_uploads_go() -> None:
    """Weights are large: versions are kept 30 days, unfinished uploads 7."""
    document = stack_json(lambda stack: ModelStore(stack, "models", MODELS))
    uploads, noncurrent = only(document, "aws_s3_bucket_lifecycle_configuration")["rule"]
    assert uploads["abort_incomplete_multipart_upload"] == [{"days_after_initiation": 7}]
    assert noncurrent["noncurrent_version_expiration"] == [{"noncurrent_days": 30}]


def test_an_unprotected_store_can_be_destroyed() -> None:
    """Development environments come and go."""
    spec = MODELS.model_copy(update={"prevent_destroy": False})
    document = stack_json(lambda stack: ModelStore(stack, "models", spec))
    assert only(document, "aws_s3_bucket")["lifecycle"] == {"prevent_destroy": False}


def test_a_model_is_listed_once() -> None:
    """The same revision twice is a mistake in the caller."""
    with pytest.raises(ValidationError, match="listed more than once: llama-8b at 0e9e39f2"):
        ModelStoreSpec.model_validate({**MODELS.model_dump(), "models": (LLAMA, LLAMA)})


def test_a_reader_reads_its_prefixes_and_the_registry_only() -> None:
    """GetObject on what the cell serves, ListBucket under the same prefixes, Decrypt with the one key."""
    document = stack_json(lambda stack: ModelReader(stack, "reader", READER))
    found = statements(only(document, "aws_iam_role_policy")["policy"])
    assert set(found) == {"List", "Read", "UseKey"}
    assert found["Read"]["Action"] == "s3:GetObject"
    assert found["Read"]["Resource"] == [f"{BUCKET}/models/registry.json", f"{BUCKET}/{LLAMA_PREFIX}*"]
    assert found["List"]["Resource"] == BUCKET
    assert found["List"]["Condition"] == {"StringLike": {"s3:prefix": [LLAMA_PREFIX[:-1], f"{LLAMA_PREFIX}*"]}}
    assert found["UseKey"]["Action"] == ["kms:Decrypt"]
    assert found["UseKey"]["Condition"] == {"ForAnyValue:StringEquals": {"kms:ResourceAliases": "alias/prod-models"}}


def test_only_the_cells_pods_take_the_reader_on() -> None:
    """EKS Pod Identity: its principal, both actions, and the session tags of cluster and service account."""
    document = stack_json(lambda stack: ModelReader(stack, "reader", READER))
    role = only(document, "aws_iam_role")
    trust = statements(role["assume_role_policy"])["PodIdentity"]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert trust["Condition"]["StringEquals"] == {
        "aws:SourceAccount": "111122223333",
        "aws:RequestTag/eks-cluster-name": "prod-use1-a",
        "aws:RequestTag/kubernetes-namespace": ["serving-batch"],
        "aws:RequestTag/kubernetes-service-account": ["models"],
    }
    association = only(document, "aws_eks_pod_identity_association")
    assert association["cluster_name"] == "prod-use1-a"
    assert (association["namespace"], association["service_account"]) == ("serving-batch", "models")
    assert association["role_arn"] == f"${{{address(role, 'aws_iam_role')}.arn}}"


def test_repositories_are_immutable_scanned_and_encrypted() -> None:
    """aws_ecr_repository: IMMUTABLE, scan_on_push, KMS with our key; untagged images expire."""
    document = stack_json(lambda stack: Registry(stack, "registry", REGISTRY))
    repository = only(document, "aws_ecr_repository")
    key = address(only(document, "aws_kms_key"), "aws_kms_key")
    assert repository["name"] == "prod/gateway"
    assert repository["image_tag_mutability"] == "IMMUTABLE"
    assert repository["image_scanning_configuration"] == {"scan_on_push": True}
    assert repository["encryption_configuration"] == [{"encryption_type": "KMS", "kms_key": f"${{{key}.arn}}"}]
    (rule,) = json.loads(only(document, "aws_ecr_lifecycle_policy")["policy"])["rules"]
    assert rule["selection"] == {
        "tagStatus": "untagged", "countType": "sinceImagePushed", "countUnit": "days", "countNumber": 14,
    }  # fmt: skip


def test_cached_images_get_repositories_like_ours() -> None:
    """A creation template per cache, made before the rule; its role does what the ECR guide lists."""
    document = stack_json(lambda stack: Registry(stack, "registry", REGISTRY))
    rule = only(document, "aws_ecr_pull_through_cache_rule")
    template = only(document, "aws_ecr_repository_creation_template")
    assert (rule["ecr_repository_prefix"], rule["upstream_registry_url"]) == ("prod-k8s", "registry.k8s.io")
    assert template["prefix"] == "prod-k8s"
    assert template["applied_for"] == ["PULL_THROUGH_CACHE"]
    assert template["image_tag_mutability"] == "IMMUTABLE"
    assert rule["depends_on"] == [address(template, "aws_ecr_repository_creation_template")]
    found = statements(only(document, "aws_iam_role_policy")["policy"])
    assert found["Repositories"]["Action"] == ["ecr:CreateRepository", "ecr:ReplicateImage", "ecr:TagResource"]
    assert found["Repositories"]["Resource"] == ["arn:aws:ecr:us-east-1:111122223333:repository/prod-k8s/*"]
    assert found["Key"]["Action"] == ["kms:CreateGrant", "kms:RetireGrant", "kms:DescribeKey"]


def test_an_empty_registry_is_refused() -> None:
    """Neither repositories nor caches is a mistake."""
    with pytest.raises(ValidationError, match="leave the registry out"):
        RegistrySpec.model_validate({**ACCOUNT, "prefix": "prod", "key_alias": "alias/prod-images"})


def test_a_secret_is_a_container_without_a_value() -> None:
    """No aws_secretsmanager_secret_version, ever; the container is under our key and hard to lose."""
    document = stack_json(lambda stack: SecretReferences(stack, "secrets", SECRETS))
    assert set(document["resource"]) == {
        "aws_iam_role_policy", "aws_kms_alias", "aws_kms_key", "aws_secretsmanager_secret",
    }  # fmt: skip
    secret = only(document, "aws_secretsmanager_secret")
    assert secret["name"] == "prod/hugging-face-token"
    assert secret["recovery_window_in_days"] == 30
    assert secret["kms_key_id"] == f"${{{address(only(document, 'aws_kms_key'), 'aws_kms_key')}.arn}}"
    assert secret["lifecycle"] == {"prevent_destroy": True}


def test_external_secrets_reads_the_named_secrets_only() -> None:
    """The exact ARN of a created secret; of an existing one, its name and the six characters that AWS appends."""
    document = stack_json(lambda stack: SecretReferences(stack, "secrets", SECRETS))
    policy = only(document, "aws_iam_role_policy")
    assert policy["role"] == "prod-use1-a-secrets"
    found = statements(policy["policy"])
    assert found["Read"]["Action"] == ["secretsmanager:GetSecretValue", "secretsmanager:DescribeSecret"]
    created = address(only(document, "aws_secretsmanager_secret"), "aws_secretsmanager_secret")
    assert found["Read"]["Resource"] == [
        f"${{{created}.arn}}",
        "arn:aws:secretsmanager:us-east-1:111122223333:secret:shared/pull-secret-??????",
    ]


def test_existing_secrets_need_no_resources() -> None:
    """Only referenced: no key, no container."""
    spec = SecretReferencesSpec.model_validate({**ACCOUNT, "secrets": (SecretReference(name="shared/pull-secret"),)})
    policies = []

    def build(stack: TerraformStack) -> None:
        policies.append(SecretReferences(stack, "secrets", spec).read_policy)

    assert "resource" not in stack_json(build)
    assert list(statements(policies[0])) == ["Read"]


def test_created_secrets_need_a_key() -> None:
    """AWS's own key cannot be shared with a role by policy, so ours has to be named."""
    with pytest.raises(ValidationError, match="need a key_alias"):
        SecretReferencesSpec.model_validate({**ACCOUNT, "secrets": (SecretReference(name="a", create=True),)})


def test_addresses_do_not_shift_when_one_is_left_out() -> None:
    """Construct ids are names, so what remains keeps its address."""
    more = REGISTRY.model_copy(update={"repositories": ("prod/first", "prod/gateway")})
    before = resources(stack_json(lambda stack: Registry(stack, "registry", more)), "aws_ecr_repository")
    after = resources(stack_json(lambda stack: Registry(stack, "registry", REGISTRY)), "aws_ecr_repository")
    (path,) = after
    assert address(before[path], "aws_ecr_repository") == address(after[path], "aws_ecr_repository")
