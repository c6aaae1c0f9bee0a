"""Rules of a running cluster: their words. `inferfab verify` finds them, and asks the cluster; nothing here does."""

from inferfab.checks.registry import Layer, Rule, declare
from inferfab.findings import Severity

_SOURCE = "what `inferfab verify` reads from the cluster's API"


def _declare(
    id: str,
    title: str,
    joins: tuple[Layer, ...],
    why: str,
    do: str,
    severity: Severity = "error",
    source: str = _SOURCE,
) -> None:
    declare(Rule(id, title, severity, joins, why, do, source, "cluster"))


_declare(
    "IF-VFY-001", "a cluster that cannot be asked", ("environment", "cluster"),
    "nothing is known of the cell, and silence is not health.",
    "ask from a machine that reaches the cluster's endpoint, with a context that may read it.",
)  # fmt: skip
_declare(
    "IF-VFY-002", "nodes that are not there", ("environment", "cloud", "cluster"),
    "a pool with fewer nodes than its minimum keeps none of its promises under the load it was planned for.",
    "look at the node group: quota, reservation, launch errors, health of the node.",
)  # fmt: skip
_declare(
    "IF-VFY-003", "nodes of another kind than planned", ("environment", "cloud", "cluster"),
    "memory, NICs, drivers and prices were worked out for another machine or another release.",
    "finish the update, or bring the environment in line with what runs.",
)  # fmt: skip
_declare(
    "IF-VFY-004", "devices that a node does not offer", ("cloud", "fabric", "cluster"),
    "pods that ask for them wait for ever, or start without RDMA.",
    "look at the device plugin or driver on that node: tolerations, list of instance types, MOFED mode.",
    source="allocatable of nodes; ResourceSlices of DRA drivers",
)  # fmt: skip
_declare(
    "IF-VFY-005", "a graph that is not ready", ("cluster", "engine"),
    "its models are not served, or by an older graph only.",
    "read the graph's conditions and its pods' events.",
    source="status of DynamoGraphDeployments (CRD of Dynamo's operator)",
)  # fmt: skip
_declare(
    "IF-VFY-006", "pods that are not ready", ("cluster", "pod"),
    "what they do for the fleet (scaling, secrets, metrics, routing) is not done.",
    "describe the workload and read its pods' events.",
)  # fmt: skip
_declare(
    "IF-VFY-007", "a model that is not whole on a node", ("cluster", "engine"),
    "engines there wait for it and serve nothing.",
    "read the log of the model cache's pod on that node: token, licence, network and disk speak there.",
)  # fmt: skip
_declare(
    "IF-VFY-008", "a tier that does not answer", ("promise", "engine", "cluster"),
    "requests of the tier fail.",
    "look at the frontends and at the router over tiers.",
    source="one request of one token through the Service that the gateway uses",
)  # fmt: skip
_declare(
    "IF-VFY-009", "KV cache that did not go over RDMA", ("fabric", "engine", "promise"),
    "a hand-over by TCP takes a hundred times as long, and nothing fails: only the promise does.",
    "look at NIXL's backend in the workers' log, at the pods' NIC resources and at the security group.",
    source="vllm:nixl_bytes_transferred_sum, counters of the NICs, environment of the pods",
)  # fmt: skip
_declare(
    "IF-VFY-010", "a gateway that is not ready", ("cluster", "promise"),
    "no request comes in, and names in DNS lead elsewhere.",
    "look at the gateway's pods and at the target group.",
)  # fmt: skip
_declare(
    "IF-VFY-011", "an alarm that fires", ("cluster", "promise"),
    "somebody decided that this is worth waking for.",
    "follow the alert's runbook.", "warning", "ALERTS of the cell's Prometheus",
)  # fmt: skip
_declare(
    "IF-VFY-012", "something that could not be seen", ("cluster",),
    "what was not looked at may be broken.",
    "give the one who asks the right to see it, or look yourself.", "warning",
)  # fmt: skip
