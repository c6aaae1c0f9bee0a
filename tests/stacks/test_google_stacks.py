"""Stacks on Google Cloud: what the facts say of GKE with RDMA (fabric.md section 2), read off the Terraform JSON."""

import ipaddress
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from synthesized import at, body_of, changed, every, fleet, plan_of, stacks

from conformance.kinds import schema_problems
from inferfab.render.google import google_files

GLOBAL = "prod-global"
FOUNDATION = "prod-global-usc1-c-foundation"


def pools(name: str) -> dict[str, Mapping[str, Any]]:
    found = every(stacks(name), "google_container_node_pool")
    return {body["name"]: body for _, body in found}


def test_the_rdma_network() -> None:
    """A VPC with the zone's RoCE profile, MTU 8896, eight subnets that do not meet, and no firewall rule."""
    document = stacks(GLOBAL)[FOUNDATION]
    network = at(document, "google_compute_network", f"{FOUNDATION}/rdma/network")
    assert network["network_profile"].endswith("/global/networkProfiles/us-central1-c-vpc-roce")
    assert (network["mtu"], network["auto_create_subnetworks"], network["routing_mode"]) == (8896, False, "REGIONAL")
    subnets = [s for path, s in every({"": document}, "google_compute_subnetwork") if "/rdma/" in path]
    ranges = [ipaddress.ip_network(s["ip_cidr_range"]) for s in subnets]
    assert len(ranges) == 8
    assert not any(a.overlaps(b) for n, a in enumerate(ranges) for b in ranges[:n])
    reference = f"${{google_compute_network.{network['//']['metadata']['uniqueId']}.id}}"
    rules = [rule for _, rule in every({"": document}, "google_compute_firewall")]
    assert rules
    assert all(rule["network"] != reference for rule in rules)


def test_networks_by_annotation() -> None:
    """Nine further NICs of a3-ultragpu in order: a gVNIC and eight RDMA; objects and pods name the same ones."""
    cell = next(c for c in fleet(GLOBAL).cells if c.cloud == "gcp")
    objects = [one for one in yaml.safe_load_all(google_files(cell)["networks.yaml"]) if one]
    assert [problem for one in objects for problem in schema_problems(one)] == []
    sets = {one["metadata"]["name"]: one["spec"] for one in objects if one["kind"] == "GKENetworkParamSet"}
    assert [spec["deviceMode"] for spec in sets.values()] == ["NetDevice", *["RDMA"] * 8]
    for body in pools(GLOBAL).values():
        if body["name"] == "system":
            continue
        given = body["network_config"]["additional_node_network_configs"]
        assert [(one["network"], one["subnetwork"]) for one in given] == [
            (spec["vpc"], spec["vpcSubnet"]) for spec in sets.values()
        ]
        assert "accelerator_network_profile" not in body["network_config"]
    [graph] = cell.serving.graphs
    asked = yaml.safe_load(graph.component("prefill").annotations["networking.gke.io/interfaces"])
    assert [one["network"] for one in asked] == ["default", *sets]
    assert graph.component("prefill").claim is None


def test_networks_by_dranet() -> None:
    """GKE makes the networks; the driver's label; neither its device plugin nor its driver beside claims for GPUs."""
    for name in ("chat-prefill", "chat-decode"):
        body = pools("prod-gcp")[name]
        assert body["network_config"] == {
            "enable_private_nodes": True, "pod_range": "pods", "accelerator_network_profile": "auto",
        }  # fmt: skip
        labels = body["node_config"]["labels"]
        assert labels["cloud.google.com/gke-networking-dra-driver"] == "true"
        assert labels["gke-no-default-nvidia-gpu-device-plugin"] == "true"
        [gpu] = body["node_config"]["guest_accelerator"]
        assert gpu["gpu_driver_installation_config"] == {"gpu_driver_version": "INSTALLATION_DISABLED"}
        assert (gpu["type"], gpu["count"]) == ("nvidia-h200-141gb", 8)


def test_a_group_without_claims_keeps_gkes_own_plugin() -> None:
    """Beside pools that claim their GPUs, one that moves nothing asks for nvidia.com/gpu, which GKE hands out."""
    body = body_of("prod-gcp")
    body["pools"]["small"] = {
        "topology": "aggregated", "tier": "priority", "model": "llama-70b", "gpu": "h200",
        "worker": {"tensor_parallel": 4, "replicas": {"desired": 2}},
    }  # fmt: skip
    body["cells"]["usc1-c"]["pools"]["small"] = None
    found = {body["name"]: body for _, body in every(changed(body), "google_container_node_pool")}
    [gpu] = found["small"]["node_config"]["guest_accelerator"]
    assert gpu["gpu_driver_installation_config"] == {"gpu_driver_version": "LATEST"}
    assert "gke-no-default-nvidia-gpu-device-plugin" not in found["small"]["node_config"]["labels"]
    assert "accelerator_network_profile" not in found["small"]["network_config"]
    assert found["chat-decode"]["network_config"]["accelerator_network_profile"] == "auto"


def test_reservations_and_upgrades() -> None:
    """One reservation, or a block of it; upgrades take one node away and add none."""
    block = "h200-inference/reservationBlocks/h200-inference-block-0001"
    for name, value in (("prod-gcp", "h200-inference"), (GLOBAL, block)):
        for body in (pools(name)["chat-prefill"], pools(name)["chat-decode"]):
            assert body["node_config"]["reservation_affinity"] == {
                "consume_reservation_type": "SPECIFIC_RESERVATION",
                "key": "compute.googleapis.com/reservation-name",
                "values": [value],
            }
            assert body["upgrade_settings"] == {"strategy": "SURGE", "max_surge": 0, "max_unavailable": 1}
            assert "placement_policy" not in body


def test_placement_without_a_reservation() -> None:
    """On demand, nodes are asked for close together."""
    body = body_of("prod-gcp")
    body["cells"]["usc1-c"]["pools"]["chat"] = None
    documents = changed(body)
    policies = list(every(documents, "google_compute_resource_policy"))
    assert [policy["group_placement_policy"] for _, policy in policies] == [{"collocation": "COLLOCATED"}] * 2
    found = [body for _, body in every(documents, "google_container_node_pool") if body["name"] != "system"]
    assert all(body["placement_policy"]["type"] == "COMPACT" for body in found)
    assert {body["node_config"]["reservation_affinity"]["consume_reservation_type"] for body in found} == {
        "NO_RESERVATION"
    }


@pytest.mark.parametrize("name", ["prod-gcp", GLOBAL])
def test_the_cluster(name: str) -> None:
    """Dataplane V2, multi-networking, Workload Identity, private nodes, encrypted secrets."""
    [(_, cluster)] = every(stacks(name), "google_container_cluster")
    assert cluster["datapath_provider"] == "ADVANCED_DATAPATH"
    assert cluster["enable_multi_networking"] is True
    assert cluster["workload_identity_config"] == {"workload_pool": "example-inference.svc.id.goog"}
    assert cluster["private_cluster_config"] == {"enable_private_nodes": True, "enable_private_endpoint": True}
    assert cluster["database_encryption"]["state"] == "ENCRYPTED"
    assert cluster["deletion_protection"] is True
    assert cluster["lifecycle"]["prevent_destroy"] is True


@pytest.mark.parametrize("name", ["prod-gcp", GLOBAL])
def test_models_come_from_the_regions_bucket(name: str) -> None:
    """Store, reader's right and Workload Identity, and the pods that fetch: one bucket, one account."""
    documents = stacks(name)
    [(_, bucket)] = every(documents, "google_storage_bucket")
    assert (bucket["public_access_prevention"], bucket["uniform_bucket_level_access"]) == ("enforced", True)
    [(_, right)] = every(documents, "google_storage_bucket_iam_member")
    assert (right["bucket"], right["role"]) == (bucket["name"], "roles/storage.objectViewer")
    [(_, identity)] = every(documents, "google_service_account_iam_member")
    assert identity["member"] == "serviceAccount:example-inference.svc.id.goog[serving/model-cache]"
    cell = next(c for c in fleet(name).cells if c.cloud == "gcp")
    uris = {source.store_uri for holder in cell.serving.cache.holders for source in holder.sources}
    assert {str(uri).split("/")[2] for uri in uris} == {bucket["name"]}


def test_both_clouds_run_the_same() -> None:
    """One file: pools, tiers and the workers' command lines are equal, but for how KV cache travels."""
    aws, google = fleet(GLOBAL).cells
    for mine, other in zip(aws.pools[0].roles, google.pools[0].roles, strict=True):
        assert mine.workers == other.workers
        assert mine.parallelism == other.parallelism
        apart = {"--kv-transfer-config"}
        flags = [[a for a in role.engine.arguments if a.flag not in apart] for role in (mine, other)]
        assert flags[0] == flags[1]


def test_route_53_holds_the_names_of_both() -> None:
    """The Google cell's address under its own name and under the tier's, by the AWS region next to it, with a check."""
    document = stacks(GLOBAL)["prod-global-global"]
    records = [body for _, body in every({"": document}, "aws_route53_record")]
    google = [body for body in records if body.get("records")]
    assert {body["name"] for body in google} == {"usc1-c.llm.example.com", "us-east-1.priority.llm.example.com"}
    assert all(body["ttl"] == 60 and "alias" not in body for body in google)
    regions = {body["latency_routing_policy"]["region"] for body in records if "latency_routing_policy" in body}
    # The nearest by measured round trip: 28.5 ms, before us-east-2 with 28.8.
    assert regions == {"us-east-2", "us-east-1"}
    checks = {body["fqdn"] for _, body in every({"": document}, "aws_route53_health_check") if "fqdn" in body}
    assert checks == {"use2-a.llm.example.com", "usc1-c.llm.example.com"}
    [(_, address)] = every({"": document}, "google_compute_address", "data")
    [(_, made)] = every(stacks(GLOBAL), "google_compute_address")
    assert (address["name"], address["region"]) == (made["name"], made["region"])


def test_states_are_apart() -> None:
    """Google's stacks keep theirs in Google's storage, AWS's in S3; no two share a key."""
    backends = {name: document["terraform"]["backend"] for name, document in stacks(GLOBAL).items()}
    google = {name: one["gcs"] for name, one in backends.items() if "gcs" in one}
    assert set(google) == {
        "prod-global-us-central1-region", "prod-global-usc1-c-foundation", "prod-global-usc1-c-platform",
        "prod-global-usc1-c-serving",
    }  # fmt: skip
    assert {one["bucket"] for one in google.values()} == {"inferfab-state-example-inference-prod-global"}
    keys = [one["prefix"] for one in google.values()] + [o["s3"]["key"] for o in backends.values() if "s3" in o]
    assert len(set(keys)) == len(backends)


def test_servers_in_racks_join_by_themselves() -> None:
    """The cluster knows the ranges of nodes and pods and lets the role in; no node group is made for the pools."""
    documents = stacks("prod-hybrid")
    [(_, cluster)] = every(documents, "aws_eks_cluster")
    assert cluster["remote_network_config"] == {
        "remote_node_networks": {"cidrs": ["10.80.0.0/24"]}, "remote_pod_networks": {"cidrs": ["10.81.0.0/16"]},
    }  # fmt: skip
    entries = [body for _, body in every(documents, "aws_eks_access_entry") if body.get("type") == "HYBRID_LINUX"]
    assert len(entries) == 1
    assert [body["node_group_name"] for _, body in every(documents, "aws_eks_node_group")] == ["system"]
    releases = {body["name"] for _, body in every(documents, "helm_release")}
    assert {"cilium", "network-operator", "cell-fabric"} <= releases
    role = next(body for _, body in every(documents, "aws_iam_role") if body["name"] == "prod-hybrid-dc1-hybrid-node")
    assert plan_of(yaml.safe_dump(body_of("prod-hybrid"))).cells[0].aws.hybrid_node_role == role["name"]  # type: ignore[union-attr]
