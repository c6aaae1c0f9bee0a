"""What every stack of every environment has: state, tags, account; and what protection and model store promise."""

import json
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from synthesized import ALL, ROOT, Document, at, body_of, changed, charts_of, every, fleet, plan_of, stacks

from inferfab.catalog.charts import charts
from inferfab.render.gateway.files import gateway_files
from inferfab.render.releases import cell_releases


@pytest.mark.parametrize("name", ALL)
def test_state_is_kept_in_the_environments_bucket_under_a_key_of_its_own(name: str) -> None:
    """S3, encrypted with the environment's key, locked by a file; no two stacks write one state."""
    own = fleet(name).ownership
    assert own.state is not None
    keys = []
    for stack, document in stacks(name).items():
        backend = document["terraform"]["backend"]
        assert list(backend) == ["s3"], "a local backend would hold an absolute path"
        kept = backend["s3"]
        assert kept["bucket"] == own.state.bucket and kept["region"] == own.state.region
        assert kept["encrypt"] is True and kept["use_lockfile"] is True and "dynamodb_table" not in kept
        assert kept["kms_key_id"] == f"alias/{own.name}-state"
        assert kept["key"] == f"inferfab/{own.name}/{stack}.tfstate"
        keys.append(kept["key"])
    assert len(set(keys)) == len(keys) == 3 * len(fleet(name).cells) + len({c.region for c in fleet(name).cells}) + 1


def test_no_two_environments_share_a_state() -> None:
    """Bucket and key together are one of a kind over all environments."""
    places = [
        (document["terraform"]["backend"]["s3"]["bucket"], document["terraform"]["backend"]["s3"]["key"])
        for name in ALL
        for document in stacks(name).values()
    ]
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("name", ALL)
def test_the_provider_is_pinned_and_bound_to_account_region_and_tags(name: str) -> None:
    """One provider configuration a stack; wrong credentials stop before anything is looked at."""
    own, account = fleet(name).ownership, fleet(name).ownership.accounts.aws
    assert account is not None
    regions = {f"{own.name}-{cell.name}": cell.region for cell in fleet(name).cells}
    regions |= {f"{own.name}-{cell.region}": cell.region for cell in fleet(name).cells}
    first = min(cell.region for cell in fleet(name).cells)
    for stack, document in stacks(name).items():
        (provider,) = document["provider"]["aws"]
        assert provider["allowed_account_ids"] == [account.account_id]
        assert provider["region"] == regions.get(stack.rsplit("-", 1)[0], first)
        assert set(provider) == {"region", "allowed_account_ids", "default_tags"}, "no profile, no key"
        assert provider["default_tags"] == [
            {
                "tags": {
                    **own.tags,
                    "inferfab-environment": own.name,
                    "inferfab-owner": own.owner,
                    "inferfab-stack": stack,
                }
            }
        ]
        for required in document["terraform"]["required_providers"].values():
            assert required["version"].replace(".", "").isdigit(), "exactly one version"
        assert "required_version" not in document["terraform"], "checkov would crash, and exit with 0"


def guarded(documents: Mapping[str, Document], type_: str, path: str) -> Any:
    """Whether Terraform refuses to destroy each resource at the end of a path."""
    return {
        body.get("lifecycle", {}).get("prevent_destroy")
        for there, body in every(documents, type_)
        if there.split("/", 1)[1] == path
    }


PROTECTED = (
    ("aws_eks_cluster", "cluster/cluster"),
    ("aws_kms_key", "key/key"),
    ("aws_s3_bucket", "models/bucket/bucket"),
    ("aws_kms_key", "models/key/key"),
    ("aws_s3_object", "models/registry"),
)


@pytest.mark.parametrize("protected", [True, False])
@pytest.mark.parametrize("name", ["dev", "staging", "prod"])
def test_protection_follows_the_file(name: str, protected: bool) -> None:
    """`protected` decides prevent_destroy of cluster, keys and models, and deletion protection of cluster and NLB."""
    documents = changed({**body_of(name), "protected": protected})
    for type_, path in PROTECTED:
        found = guarded(documents, type_, path)
        assert found == ({True} if protected else {False}) or (not protected and found == {None}), (type_, path, found)
    assert {c["deletion_protection"] for _, c in every(documents, "aws_eks_cluster")} == {protected}
    assert {b["enable_deletion_protection"] for _, b in every(documents, "aws_lb")} == {protected}


def test_the_keys_that_terraform_refuses_to_destroy_are_those_of_the_document() -> None:
    """docs/deploy.md: keys of cells, models and state, and not the alerts' own."""
    fleet_ = fleet("prod")
    assert fleet_.ownership.protected
    guards = {
        path.split("/", 1)[1]: body.get("lifecycle", {}).get("prevent_destroy", False)
        for path, body in every(stacks("prod"), "aws_kms_key")
    }
    assert guards == {"key/key": True, "models/key/key": True, "alerts/key/key": False}
    text = " ".join((ROOT / "docs/deploy.md").read_text(encoding="utf-8").split())
    assert "refuses to destroy the keys of cells, models and state," in text
    assert "The alerts' key is not among them" in text


def test_prod_is_protected_and_dev_is_not() -> None:
    """What the repository's own files ask for."""
    assert [fleet(name).ownership.protected for name in ("dev", "staging", "prod")] == [False, False, True]


@pytest.mark.parametrize("name", ALL)
def test_one_model_store_a_region_with_exactly_its_pinned_models(name: str) -> None:
    """Its registry lists each model that a pool of the region serves, at the file's revision, and no other."""
    models = {model.name: model for model in fleet(name).models}
    by_region: dict[str, list[Any]] = {}
    for cell in fleet(name).cells:
        by_region.setdefault(cell.region, []).append(cell)
    buckets = dict(every(stacks(name), "aws_s3_bucket"))
    assert len(buckets) == len(by_region)
    for region, cells in by_region.items():
        stack = f"{fleet(name).ownership.name}-{region}-region"
        assert f"{stack}/models/bucket/bucket" in buckets
        content = json.loads(at(stacks(name)[stack], "aws_s3_object", f"{stack}/models/registry")["content"])
        served = sorted({model for cell in cells for pool in cell.pools for model in pool.models})
        assert [(row["name"], row["revision"]) for row in content["models"]] == [
            (model, models[model].revision) for model in served
        ]
        for row in content["models"]:
            assert row["prefix"] == f"models/{row['name']}/{row['revision']}/"
            assert len(row["revision"]) == 40, "a commit, never a branch"


def test_a_region_registers_only_what_it_serves() -> None:
    """The batch model runs in one region of prod: only that region's store lists it."""
    rows = {
        path.split("/")[0]: [row["name"] for row in json.loads(body["content"])["models"]]
        for path, body in every(stacks("prod"), "aws_s3_object")
    }
    assert rows == {
        "prod-us-east-1-region": ["llama-70b", "llama-8b", "qwen-32b"],
        "prod-us-west-2-region": ["llama-70b", "qwen-32b"],
    }


def test_each_cells_alarm_notifies_the_topic_of_its_own_region() -> None:
    """CloudWatch publishes to no other region's topic; the budget's is that of the global stack's region."""
    documents = stacks("prod")
    topics = {path.split("/")[0]: body["name"] for path, body in every(documents, "aws_sns_topic")}
    assert topics == {"prod-us-east-1-region": "prod-alerts", "prod-us-west-2-region": "prod-alerts"}
    arns = {r: f"arn:aws:sns:{r}:111122223333:prod-alerts" for r in ("us-east-1", "us-west-2")}
    of = {cell.name: arns[cell.region] for cell in fleet("prod").cells}
    heard_of = set()
    for path, alarm in every(documents, "aws_cloudwatch_metric_alarm"):
        (cell,) = [name for name in of if name in path]
        heard_of.add(cell)
        assert alarm["alarm_actions"] == alarm["insufficient_data_actions"] == [of[cell]]
    assert heard_of == set(of)
    ((_, budget),) = every(documents, "aws_budgets_budget")
    heard = {arn for each in budget["notification"] for arn in each["subscriber_sns_topic_arns"]}
    assert heard == {arns["us-east-1"]}


def test_who_hears_of_alarms_is_asked_once_in_each_region() -> None:
    """`alerts.emails` subscribes to each topic; without it nobody does."""
    asked = [(path.split("/")[0], body["protocol"], body["endpoint"]) for path, body in
             every(stacks("prod"), "aws_sns_topic_subscription")]  # fmt: skip
    assert sorted(asked) == [
        ("prod-us-east-1-region", "email", "ml-platform@example.com"),
        ("prod-us-west-2-region", "email", "ml-platform@example.com"),
    ]
    body = body_of("prod")
    del body["alerts"]
    assert not list(every(changed(body), "aws_sns_topic_subscription"))
    twice = changed({**body, "alerts": {"emails": ["a@example.com", "b@example.com", "a@example.com"]}})
    assert len(list(every(twice, "aws_sns_topic_subscription"))) == 4


FIRST_TO_LAST = [
    ("cell-objects", "cert-manager"),
    ("cert-manager", "kube-prometheus-stack"),
    ("kube-prometheus-stack", "external-secrets"),
    ("kube-prometheus-stack", "aws-load-balancer-controller"),
    ("kube-prometheus-stack", "cluster-autoscaler"),
    ("kube-prometheus-stack", "gpu-operator"),
    ("kube-prometheus-stack", "keda"),
    ("gpu-operator", "dynamo-platform"),
    ("cert-manager", "dynamo-platform"),
    ("external-secrets", "cell-edge"),
    ("aws-load-balancer-controller", "cell-edge"),
]


@pytest.mark.parametrize("name", ALL)
def test_helm_releases_are_pinned_and_wait_for_what_they_need(name: str) -> None:
    """Each release is the catalog's version of its chart, once; who needs another's kinds comes after it."""
    catalog = charts()
    for stack, document in stacks(name).items():
        releases = {path.split("/")[2]: body for path, body in every({"": document}, "helm_release")}
        assert bool(releases) == stack.endswith(("-platform", "-serving"))
        if not stack.endswith("-platform"):
            continue
        assert len({body["name"] for body in releases.values()}) == len(releases)
        for release, body in releases.items():
            if release in {"cell-objects", "cell-edge"}:
                assert body["chart"].startswith("${path.module}/assets/"), "found wherever the folder goes"
                assert body["version"].startswith("0.1.0+"), "with the digest of its content"
            else:
                assert body["version"] == catalog[release].version, release
                assert body["repository"] == catalog[release].repository
            assert body["atomic"] is True and body["wait"] is True
            for text in body["values"]:
                assert isinstance(yaml.safe_load(text), dict)
        ids = {f"helm_release.{body['//']['metadata']['uniqueId']}": release for release, body in releases.items()}
        direct = {r: {ids[d] for d in body.get("depends_on", ())} for r, body in releases.items()}

        def before(release: str, direct: dict[str, set[str]] = direct) -> set[str]:
            return direct[release] | {far for near in direct[release] for far in before(near)}

        for first, last in FIRST_TO_LAST:
            assert first in before(last), f"{last} does not wait for {first}"
        assert all(before(release) or release == "cell-objects" for release in releases)


@pytest.mark.parametrize("name", ALL)
def test_what_serves_is_never_rolled_back(name: str) -> None:
    """Going back would take away a graph that serves; a model's download outlasts any timeout."""
    serving = {stack: body for stack, body in stacks(name).items() if stack.endswith("-serving")}
    assert len(serving) == len(fleet(name).cells)
    for body, cell in zip(serving.values(), fleet(name).cells, strict=True):
        releases = [release for _, release in every({"": body}, "helm_release")]
        wanted = {(one.name, one.namespace) for one in cell_releases(fleet(name), cell)}
        assert {(one["name"], one["namespace"]) for one in releases} == wanted
        assert {("serving", "serving"), ("gateway", "gateway")} <= wanted
        for release in releases:
            assert release["atomic"] is False and release["wait"] is False
            assert release["version"].startswith("0.1.0+"), "with the digest of its content"
            assert release["chart"].startswith("${path.module}/assets/")


def test_a_secret_store_is_installed_only_where_there_is_a_secret() -> None:
    """Without a token its role may read nothing, and a store that can read nothing is never ready."""

    def stores(body: dict[str, Any]) -> int:
        planned = plan_of(yaml.safe_dump(body))
        found = [yaml.safe_load(text) for path, text in charts_of(planned) if path.endswith("secret_store.yaml")]
        allowed.extend(found[0]["spec"]["conditions"][0]["namespaces"] if found else [])
        return len(found)

    allowed: list[str] = []
    body = body_of("dev")
    for model in body["models"].values():
        model.pop("token_secret", None)
    tenants = body.pop("tenants")
    assert stores(body) == 0
    next(iter(body["models"].values()))["token_secret"] = "hub-token"
    assert stores(body) == 1
    assert allowed == ["serving"], "nobody in the gateways' namespace needs a model's token"
    allowed.clear()
    body["models"][next(iter(body["models"]))].pop("token_secret")
    body["tenants"] = tenants
    assert stores(body) == 1, "keys of tenants come from it"
    assert allowed == ["gateway"]


def test_gateways_stand_in_every_zone_of_a_network_that_was_there() -> None:
    """Its system nodes are in the zones of the named subnets: apart by node alone, all gateways could be in one that
    the load balancer does not send to. In a network of the cell's own there is one zone."""

    def spread(name: str) -> list[tuple[str, str]]:
        objects = yaml.safe_load_all(gateway_files(fleet(name).cells[0])["gateways.yaml"])
        (proxy,) = (one for one in objects if one["kind"] == "EnvoyProxy")
        pod = proxy["spec"]["provider"]["kubernetes"]["envoyDeployment"]["pod"]
        return [(one["topologyKey"], one["whenUnsatisfiable"]) for one in pod["topologySpreadConstraints"]]

    by_node = ("kubernetes.io/hostname", "DoNotSchedule")
    assert spread("several-accounts") == [by_node, ("topology.kubernetes.io/zone", "DoNotSchedule")]
    assert spread("dev") == [by_node]


@pytest.mark.parametrize("name", ALL)
def test_the_cluster_that_a_platform_speaks_to_is_looked_up(name: str) -> None:
    """By the plan's name, with a token of the moment: no credential lies in file or state."""
    for cell in fleet(name).cells:
        document = stacks(name)[f"{fleet(name).ownership.name}-{cell.name}-platform"]
        (found,) = [body for _, body in every({"": document}, "aws_eks_cluster", "data")]
        assert found["name"] == cell.cluster
        (helm,) = document["provider"]["helm"]
        assert helm["kubernetes"]["exec"]["args"][:4] == ["eks", "get-token", "--cluster-name", cell.cluster]
        assert "token" not in helm["kubernetes"]


def test_in_an_existing_network_nothing_of_it_is_made() -> None:
    """Groups, cluster and nodes come into the named subnets; no VPC, subnet, route, gateway or endpoint."""
    document = stacks("existing-network")["guest-use1-a-foundation"]
    made = set(document["resource"])
    rules = {"aws_vpc_security_group_ingress_rule", "aws_vpc_security_group_egress_rule"}
    network = ("aws_vpc", "aws_subnet", "aws_route", "aws_nat", "aws_internet", "aws_eip")
    assert {type_ for type_ in made if type_.startswith(network)} == rules
    assert not {"aws_flow_log", "aws_default_security_group"} & made
    ((_, cluster),) = every({"": document}, "aws_eks_cluster")
    assert cluster["vpc_config"]["subnet_ids"] == ["subnet-0a1b2c3d4e5f60701", "subnet-0a1b2c3d4e5f60702"]
    ((_, balancer),) = every({"": document}, "aws_lb")
    assert balancer["internal"] is True
    assert balancer["subnets"] == ["subnet-0a1b2c3d4e5f60701", "subnet-0a1b2c3d4e5f60702"]
    # Which of them is in the cell's zone is not in the file.
    assert balancer["enable_cross_zone_load_balancing"] is True
    for _, group in every({"": document}, "aws_security_group"):
        assert group["vpc_id"] == "vpc-0a1b2c3d4e5f60718"


def test_in_an_existing_cluster_only_nodes_and_what_they_need_are_made() -> None:
    """No cluster, add-on, access entry or cluster role: those are its owner's. Our nodes join it by name."""
    document = stacks("existing-cluster")["lodger-use1-a-foundation"]
    made = set(document["resource"])
    assert not {"aws_eks_cluster", "aws_eks_addon", "aws_eks_access_entry", "aws_eks_access_policy_association"} & made
    groups = [body for _, body in every({"": document}, "aws_eks_node_group")]
    assert {body["cluster_name"] for body in groups} == {"shared"}
    # Others may have a `system` and a `chat` there; and how many pods a node takes is for their CNI to say.
    assert sorted(body["node_group_name"] for body in groups) == ["lodger-chat", "lodger-system"]
    assert "max-pods" not in json.dumps(document)
    (storage,) = (text for path, text in charts_of(fleet("existing-cluster")) if path.endswith("storage_class.yaml"))
    assert "kmsKeyId" not in storage, "the owner's EBS driver may not use our key"
    ((_, found),) = every({"": document}, "aws_eks_cluster", "data")
    assert found["name"] == "shared"
    ((_, balancer),) = every({"": document}, "aws_lb")
    assert balancer["internal"] is False and balancer["subnets"] == ["subnet-0a1b2c3d4e5f60704"]


@pytest.mark.parametrize("name", ALL)
def test_the_autoscaler_scales_our_node_groups_and_no_others(name: str) -> None:
    """In a cluster of somebody else's there are other groups: it looks for a tag of the cell's, all of ours have it,
    and IAM lets it change no other.
    """
    for cell in fleet(name).cells:
        stack = f"{fleet(name).ownership.name}-{cell.name}"
        tag = f"inferfab-autoscaler/{stack}"
        release = at(
            stacks(name)[f"{stack}-platform"],
            "helm_release",
            f"{stack}-platform/platform/cluster-autoscaler/release",
        )
        looks_for = yaml.safe_load(release["values"][0])["autoDiscovery"]["tags"]
        assert looks_for == ["k8s.io/cluster-autoscaler/enabled", tag]
        foundation = {"": stacks(name)[f"{stack}-foundation"]}
        tagged = {
            body["autoscaling_group_name"].split(".")[1]
            for _, body in every(foundation, "aws_autoscaling_group_tag")
            if body["tag"] == {"key": tag, "value": "owned", "propagate_at_launch": False}
        }
        assert tagged == set(foundation[""]["resource"]["aws_eks_node_group"])
        (policy,) = (
            body for path, body in every(foundation, "aws_iam_role_policy") if "/controllers/autoscaler/" in path
        )
        (scales,) = (s for s in json.loads(policy["policy"])["Statement"] if s["Sid"] == "Scale")
        demanded = scales["Condition"]["StringEquals"]
        assert demanded.keys() == {"aws:ResourceTag/eks:cluster-name", f"aws:ResourceTag/{tag}"}
        assert demanded[f"aws:ResourceTag/{tag}"] == "owned"


def test_what_is_added_to_an_owners_security_group_is_written_down() -> None:
    """docs/adopt.md has one row for each rule that we put on the cluster's own group, and no other."""
    document = {"": stacks("existing-cluster")["lodger-use1-a-foundation"]}
    added = set()
    for _, rule in every(document, "aws_vpc_security_group_ingress_rule"):
        if "data.aws_eks_cluster" in rule["security_group_id"]:
            assert rule["ip_protocol"] != "-1", "every protocol, onto nodes of somebody else's"
            first, last = rule["from_port"], rule["to_port"]
            ours = "inference" if "inference" in rule["referenced_security_group_id"] else "load-balancer"
            added.add((f"{rule['ip_protocol']} {first}" + (f" to {last}" if last != first else ""), ours))
    for _, rule in every(document, "aws_vpc_security_group_egress_rule"):
        assert "data.aws_eks_cluster" not in rule["security_group_id"]
    text = (ROOT / "docs/adopt.md").read_text(encoding="utf-8")
    rows = set(re.findall(r"^\| (tcp [^|]*|udp [^|]*) \| `<environment>-<cell>-([a-z-]+)` \|", text, re.MULTILINE))
    assert added == rows and len(rows) == 4


@pytest.mark.parametrize("name", ALL)
def test_stacks_name_only_what_is_in_them(name: str) -> None:
    """Each reference is to a resource or data source of the same stack: stacks meet by names, not by state."""
    for stack, document in stacks(name).items():
        text = json.dumps({k: document.get(k) for k in ("resource", "data", "output", "provider")})
        there = {
            f"{prefix}{type_}.{logical_id}"
            for kind, prefix in (("resource", ""), ("data", "data."))
            for type_, members in document.get(kind, {}).items()
            for logical_id in members
        }
        used = set(re.findall(r"\$\{[^}]*?((?:data\.)?(?:aws|helm)_[a-z0-9_]+\.[A-Za-z0-9_-]+)", text))
        assert used <= there, f"{stack}: {used - there}"
        assert "terraform_remote_state" not in text
        waits = {
            wait for members in document.get("resource", {}).values() for b in members.values()
            for wait in b.get("depends_on", ())
        }  # fmt: skip
        assert waits <= there
