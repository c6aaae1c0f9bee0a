"""One of each environment-wide construct, as an environment with three cells in two regions would have them."""

from inferfab.aws.alerts import AlertsTopic, AlertsTopicSpec
from inferfab.aws.budget import FleetBudget, FleetBudgetSpec
from inferfab.aws.deploy_role import DeployRole, DeployRoleSpec
from inferfab.aws.hosted_names import HostedNames
from inferfab.aws.hosted_names_spec import CellShare, HostedCell, HostedNamesSpec, HostedTier, Spill
from inferfab.aws.image_cache import PullThrough
from inferfab.aws.model_reader import ModelReader, ModelReaderSpec, ServiceAccount
from inferfab.aws.model_store import ModelStore, ModelStoreSpec, PinnedModel
from inferfab.aws.name_group import Policy
from inferfab.aws.registry import Registry, RegistrySpec
from inferfab.aws.secrets import SecretReference, SecretReferences, SecretReferencesSpec
from inferfab.aws.state_bucket import StateBucket, StateBucketSpec
from inferfab.terraform import TerraformStack

from .synth_global import ACCOUNT

LLAMA = PinnedModel(
    name="llama-8b", revision="0e9e39f249a16976918f6564b8830bc894c89659", source="meta-llama/Llama-3.1-8B-Instruct"
)
QWEN = PinnedModel(name="qwen-32b", revision="9216db5781bf21249d130ec9da846c4624c16137")
TOPIC = "arn:aws:sns:us-east-1:111122223333:prod-alerts"

# Hosted zones of Network Load Balancers: docs.aws.amazon.com/general/latest/gr/elb
NLB_ZONES = {"us-east-1": "Z26RNL4JYFTOTI", "us-west-2": "Z18D5FSROUN65G"}
REGIONS = {"use1-a": "us-east-1", "use1-b": "us-east-1", "usw2-c": "us-west-2"}

STATE = StateBucketSpec.model_validate(
    {**ACCOUNT, "bucket": "inferfab-state-111122223333-prod", "key_alias": "alias/inferfab-state-prod"}
)
DEPLOY = DeployRoleSpec.model_validate(
    {
        **ACCOUNT,
        "name": "inferfab-deploy",
        "trusted_arns": ("arn:aws:iam::111122223333:role/ci",),
        "state_bucket": "inferfab-state-111122223333-prod",
        "state_key_alias": "alias/inferfab-state-prod",
        "state_prefix": "inferfab/prod/",
        "permissions_boundary_arn": "arn:aws:iam::111122223333:policy/inferfab-boundary",
    }
)
MODELS = ModelStoreSpec.model_validate(
    {
        **ACCOUNT,
        "bucket": "prod-models-111122223333-us-east-1",
        "key_alias": "alias/prod-models",
        "models": (QWEN, LLAMA),
    }
)
READER = ModelReaderSpec.model_validate(
    {
        **ACCOUNT,
        "name": "prod-use1-a-models",
        "bucket": "prod-models-111122223333-us-east-1",
        "key_alias": "alias/prod-models",
        "prefixes": (LLAMA.prefix,),
        "cluster": "prod-use1-a",
        "service_accounts": (ServiceAccount(namespace="serving-batch", name="models"),),
    }
)
REGISTRY = RegistrySpec.model_validate(
    {
        **ACCOUNT,
        "prefix": "prod",
        "key_alias": "alias/prod-images",
        "repositories": ("prod/gateway",),
        "pull_through": (PullThrough(prefix="prod-k8s", upstream="registry.k8s.io"),),
    }
)
SECRETS = SecretReferencesSpec.model_validate(
    {
        **ACCOUNT,
        "secrets": (
            SecretReference(name="prod/hugging-face-token", create=True),
            SecretReference(name="shared/pull-secret"),
        ),
        "key_alias": "alias/prod-secrets",
        "reader_role_name": "prod-use1-a-secrets",
    }
)
ALERTS = AlertsTopicSpec.model_validate({**ACCOUNT, "name": "prod-alerts", "key_alias": "alias/prod-alerts"})
BUDGET = FleetBudgetSpec(name="prod-gpu-fleet", usd_per_month=1_200_000, tag_value="prod", topic_arn=TOPIC)


def cell(name: str, *, public: bool = True) -> HostedCell:
    region = REGIONS[name]
    return HostedCell(
        name=name,
        region=region,
        hostname=f"{name}.llm.example.com",
        load_balancer_dns_name=f"prod-{name}-0123456789abcdef.elb.{region}.amazonaws.com",
        load_balancer_zone_id=NLB_ZONES[region],
        public=public,
    )


def names(*spills: Spill, policy: Policy = "latency", public: bool = True) -> HostedNamesSpec:
    """A tier for each spill, named like it, on all three cells."""
    shares = (CellShare(cell="use1-a", weight=40), CellShare(cell="use1-b", weight=25), CellShare(cell="usw2-c"))
    return HostedNamesSpec(
        prefix="prod",
        zone="llm.example.com",
        policy=policy,
        cells=tuple(cell(name, public=public) for name in REGIONS),
        tiers=tuple(
            HostedTier(name=(n := s.replace("_", "-")), hostname=f"{n}.llm.example.com", spill=s, cells=shares)
            for s in spills
        ),
    )


def everything(stack: TerraformStack) -> None:
    """One of each."""
    StateBucket(stack, "state", STATE)
    DeployRole(stack, "deploy", DEPLOY)
    ModelStore(stack, "models", MODELS)
    ModelReader(stack, "model-reader", READER)
    Registry(stack, "registry", REGISTRY)
    SecretReferences(stack, "secrets", SECRETS)
    AlertsTopic(stack, "alerts", ALERTS)
    FleetBudget(stack, "budget", BUDGET)
    HostedNames(stack, "names", names("never", "when_down", "any"))
