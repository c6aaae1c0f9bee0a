"""What Prometheus says: KV cache handed over by RDMA, and alarms."""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import quote, urlsplit

from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.pools import PoolPlan
from inferfab.plan.prometheus import prometheus_url
from inferfab.verify.cluster import Cluster, NotSeen
from inferfab.verify.seen import Seen

_QUIET = ("Watchdog", "InfoInhibitor")
"""They fire always, so that somebody notices when alerts do not arrive (kube-prometheus)."""
POLL_SECONDS = 5.0
_FABRIC_COUNTERS = {
    "efa": ("node_amazonefa_rdma_read_bytes", "node_amazonefa_rdma_write_bytes"),
    "roce": ("node_infiniband_port_data_received_bytes_total",),
}
"""What NICs carried, of node exporters that look (node_exporter's infiniband collector; AWS's EFA exporter)."""


class Prometheus:
    """The cell's Prometheus, through the API server."""

    def __init__(self, cluster: Cluster, url: str | None = None) -> None:
        parts = urlsplit(url or prometheus_url())
        service, _, namespace = str(parts.hostname).partition(".")
        self._cluster = cluster
        self._path = f"/api/v1/namespaces/{namespace.partition('.')[0]}/services/http:{service}:{parts.port}/proxy"

    def query(self, expression: str) -> list[dict[str, Any]]:
        """Result of an instant query.

        :raises NotSeen: if Prometheus is out of reach or says no.
        """
        answer = self._cluster.raw(f"{self._path}/api/v1/query?query={quote(expression, safe='')}")
        try:
            body = json.loads(answer)
            if body["status"] != "success":
                raise NotSeen("broken", f"Prometheus says {body.get('error', 'no')}")
            return list(body["data"]["result"])
        except (ValueError, KeyError, TypeError) as error:
            raise NotSeen("broken", f"Prometheus' answer is none: {answer[:100]}") from error

    def number(self, expression: str) -> float | None:
        """Value of a query with one result; None where there is none."""
        result = self.query(expression)
        return float(result[0]["value"][1]) if result else None


def look_at_transfers(
    seen: Seen,
    cluster: Cluster,
    *,
    asked: bool = True,
    wait_seconds: float,
    sleep: Callable[[float], None] = time.sleep,
) -> None:
    """After a request: prefill handed KV cache over, and NICs carried it.

    :param asked: a request was made, so that something must have moved.
    :param wait_seconds: how long to wait for Prometheus to scrape it.
    """
    pools = [pool for pool in seen.cell.pools if pool.topology == "disaggregated"]
    if not pools:
        return
    prometheus = Prometheus(cluster)
    moved = 0.0
    for pool in pools:
        name = f"KV cache of {pool.name} handed over"
        try:
            amount = _moved(seen, pool, prometheus, wait_seconds, sleep)
            failed = prometheus.number(f"sum(vllm:nixl_num_failed_transfers_total{_pods(seen, pool)})")
        except NotSeen as error:
            seen.not_known(name, str(error))
            continue
        if not amount and not asked:
            seen.not_known(name, "nobody asked since the workers started")
            continue
        if not amount:
            seen.trouble(
                "IF-VFY-009", ("pools", pool.name),
                f"no KV cache was handed over from prefill to decode of {pool.name}",
                "decode works every prompt out again, or nobody asked yet: look for `nixl` in its workers' log",
            )  # fmt: skip
            continue
        moved += amount
        if failed:
            seen.trouble(
                "IF-VFY-009", ("pools", pool.name),
                f"{failed:.0f} hand-overs of {pool.name} failed, beside {amount / 1e6:,.1f} MB that arrived",
                "look at the NICs' error counters and at the workers' log", severity="warning",
            )  # fmt: skip
        _environment(seen, pool, cluster)
        seen.line(f"{pool.name} handed {amount / 1e6:,.1f} MB of KV cache over")
    if moved:
        _carried(seen, prometheus, moved)


def _moved(
    seen: Seen, pool: PoolPlan, prometheus: Prometheus, wait_seconds: float, sleep: Callable[[float], None]
) -> float:
    waited = 0.0
    while True:
        amount = prometheus.number(f"sum(vllm:nixl_bytes_transferred_sum{_pods(seen, pool)})") or 0.0
        if amount or waited >= wait_seconds:
            return amount
        sleep(POLL_SECONDS)
        waited += POLL_SECONDS


def _pods(seen: Seen, pool: PoolPlan) -> str:
    graphs = "|".join(graph.pods_regex for graph in seen.cell.serving.of_pool(pool.name))
    return f'{{namespace="{SERVING_NAMESPACE}",pod=~"({graphs})-.+"}}'


def _environment(seen: Seen, pool: PoolPlan, cluster: Cluster) -> None:
    """What NIXL was told in the pods that run: with TCP among its transports it would fall back without a word."""
    for graph in seen.cell.serving.of_pool(pool.name):
        try:
            pods = cluster.list("pods", SERVING_NAMESPACE, f"nvidia.com/dynamo-graph-deployment-name={graph.name}")
        except NotSeen as error:
            seen.not_known(f"transports of {graph.name}", str(error))
            continue
        planned = {env.name: env.value for part in graph.components if part.gpus for env in part.env}
        for pod in pods:
            for container in pod.get("spec", {}).get("containers", ()):
                env = {e["name"]: e.get("value") for e in container.get("env") or ()}
                wrong = [
                    f"{name} is {env.get(name)!r}, and {planned[name]!r} was planned"
                    for name in ("UCX_TLS", "FI_PROVIDER")
                    if planned.get(name) and container["name"] == "main" and _works_on_gpus(container)
                    and env.get(name) != planned[name]
                ]  # fmt: skip
                if wrong:
                    seen.trouble(
                        "IF-VFY-009", ("pools", pool.name), f"pod {pod['metadata']['name']}: {'; '.join(wrong)}",
                        "apply the serving stack; a webhook of the cluster may change pods",
                    )  # fmt: skip


def _works_on_gpus(container: dict[str, Any]) -> bool:
    resources = container.get("resources") or {}
    return bool(resources.get("claims")) or any(k.startswith("nvidia.com/") for k in resources.get("limits") or {})


def _carried(seen: Seen, prometheus: Prometheus, moved: float) -> None:
    kind = seen.cell.fabric.kind
    if kind == "tcp":
        seen.line("KV cache goes over TCP, as planned")
        return
    names = _FABRIC_COUNTERS[kind]
    try:
        carried = prometheus.number(f'sum({{__name__=~"{"|".join(names)}"}})')
    except NotSeen as error:
        seen.not_known("what the NICs carried", str(error))
        return
    if carried is None:
        seen.not_known("what the NICs carried", f"nothing exports {' or '.join(names)}")
    elif carried < moved:
        seen.trouble(
            "IF-VFY-009", ("cells", seen.cell.name, "fabric"),
            f"workers handed {moved / 1e6:,.1f} MB over, and the RDMA NICs carried {carried / 1e6:,.1f} MB: the rest "
            "went another way", "look at NIXL's backend in the workers' log; security group and resources of the pods",
        )  # fmt: skip
    else:
        seen.line(f"RDMA NICs carried {carried / 1e6:,.1f} MB since they started")


def look_at_alarms(seen: Seen, cluster: Cluster) -> None:
    """Alerts that fire now."""
    try:
        firing = Prometheus(cluster).query('ALERTS{alertstate="firing"}')
    except NotSeen as error:
        seen.not_known("alarms", str(error))
        return
    loud = 0
    for one in firing:
        labels = one["metric"]
        name, severity = labels.get("alertname", "?"), labels.get("severity", "")
        if name in _QUIET or severity in ("none", "info"):
            continue
        loud += 1
        about = ", ".join(
            f"{key} {labels[key]}" for key in ("namespace", "tier", "pool", "pod", "node", "instance") if key in labels
        )
        seen.trouble(
            "IF-VFY-011", ("cells", seen.cell.name), f"alert {name} fires{f' ({about})' if about else ''}",
            "its runbook, where it names one, says what to do",
            severity="error" if severity == "critical" else "warning",
        )  # fmt: skip
    if not loud:
        seen.line("no alarm fires")
