"""Dynamo's planner: its configuration, what it reads, and what it may scale."""

import json
import re
from collections.abc import Iterator
from typing import Any

from inferfab.catalog.json_configs import PlannerKey, planner_config
from inferfab.checks.registry import Problem, manifest_rule
from inferfab.checks.serving.manifest_views import spot
from inferfab.checks.serving.views import Spot
from inferfab.environment.problems import meant
from inferfab.manifests.config_maps import mounted_file
from inferfab.manifests.model import Manifests, Process, Workload

_PLANNER = "ai-dynamo 1.6.1 dynamo/planner/config/planner_config.py and defaults.py"
_DEFAULT_HOST = "prometheus-kube-prometheus-prometheus.monitoring"


def planners(manifests: Manifests) -> Iterator[tuple[Workload, Process]]:
    for workload in manifests.workloads:
        for process in workload.processes:
            if process.program == "dynamo.planner":
                yield workload, process


def config_of(manifests: Manifests, workload: Workload, process: Process) -> tuple[dict[str, Any] | None, Spot]:
    """The planner's JSON, in the command line or in a ConfigMap's file; None for another file or what is no JSON."""
    option = process.option("--config")
    if option is None:
        return None, spot(process.ref)
    where, text = spot(option.value_ref), (option.value or "") if option.known else ""
    if text.startswith("/"):
        file = mounted_file(manifests, workload, process.container, text)
        if file is None:
            return None, where
        where, text = spot(file.key_ref), file.text or ""
    if not text.lstrip().startswith("{"):
        return None, where
    try:
        read = json.loads(text)
    except (ValueError, RecursionError):
        return None, where
    return (read if isinstance(read, dict) else None), where


@manifest_rule(
    "IF-SCL-003",
    "planner settings that nothing reads, or that contradict",
    joins=("engine", "cluster", "promise"),
    why="the planner takes unknown keys without a word and goes on with defaults: it scales by other targets than "
    "were written, or not at all.",
    do="use the keys of the planner's own configuration.",
    source=f"{_PLANNER}; run of PlannerConfig: an unknown key is accepted silently",
)
def planner_settings_read(manifests: Manifests) -> Iterator[Problem]:
    for workload, process in planners(manifests):
        config, where = config_of(manifests, workload, process)
        option = process.option("--config")
        text = (option.value or "") if option is not None and option.known else ""
        if config is None and text.lstrip().startswith("{"):
            yield where.problem("the planner's configuration is not a JSON object", "mend the JSON")
        if config is not None:
            # Other releases have other settings; those that are known to nobody here may be of theirs.
            sure = process.image.dynamo == planner_config().dynamo
            yield from _keys(config, where, sure=sure)
            yield from _together(config, where)


def _keys(config: dict[str, Any], where: Spot, *, sure: bool) -> Iterator[Problem]:
    file = planner_config()
    for key, value in config.items():
        entry = file.properties.get(key)
        if entry is None:
            if key not in file.aliases:
                names = [*file.properties, *file.aliases]
                yield where.problem(
                    f"the planner of Dynamo {file.dynamo} has no setting `{key}`",
                    meant(key, names, most=8),
                    value=key,
                    severity="error" if sure else "warning",
                )
        elif wrong := _wrong(entry, value):
            yield where.problem(f"the planner's `{key}` {wrong}", "write a value that it takes", value=str(value)[:60])


_TYPES: dict[str, tuple[type, ...]] = {
    "integer": (int,), "number": (int, float), "boolean": (bool,), "string": (str,), "object": (dict,)
}  # fmt: skip


def _wrong(entry: PlannerKey, value: object) -> str:
    if value is None:
        return ""
    types = _TYPES.get(entry.type)
    # pydantic is lenient here: "60" is 60 to it.
    if types and isinstance(value, bool) and bool not in types:
        return f"is {str(value).lower()}, not a {entry.type}"
    if types and not isinstance(value, types) and not (isinstance(value, str) and entry.type in ("integer", "number")):
        return f"is not a {entry.type}"
    if entry.enum and value not in entry.enum:
        return f"cannot be `{value}` ({', '.join(entry.enum)})"
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        if entry.minimum is not None and value < entry.minimum:
            return f"is {value}, below {entry.minimum:g}"
        if entry.maximum is not None and value > entry.maximum:
            return f"is {value}, above {entry.maximum:g}"
        if entry.exclusiveMinimum is not None and value <= entry.exclusiveMinimum:
            return f"is {value}, not above {entry.exclusiveMinimum:g}"
    return ""


def _together(config: dict[str, Any], where: Spot) -> Iterator[Problem]:
    target = config.get("optimization_target", "throughput")
    latency = [k for k in ("ttft_ms", "itl_ms", "ttft", "itl") if k in config]
    if latency and target != "sla":
        yield where.problem(
            f"`{latency[0]}` is ignored with optimization_target `{target}`",
            "write `optimization_target: sla`, or remove it",
            severity="warning",
        )
    if config.get("enable_throughput_scaling", True) is False and not config.get("enable_load_scaling", False):
        yield where.problem("both ways of scaling are switched off", "switch one of them on")
    slow, fast = config.get("throughput_adjustment_interval_seconds", 180), config.get(
        "load_adjustment_interval_seconds", 5
    )  # fmt: skip
    if isinstance(slow, int) and isinstance(fast, int) and fast >= slow and config.get("enable_load_scaling"):
        yield where.problem(
            f"load is judged every {fast} s and throughput every {slow} s: load must be judged more often",
            "write a smaller `load_adjustment_interval_seconds`",
        )
    if target == "load":
        for up, down in (("prefill_scale_up_queue_tokens", "prefill_scale_down_queue_tokens"),
                         ("decode_scale_up_kv_rate", "decode_scale_down_kv_rate")):  # fmt: skip
            high, low = config.get(up), config.get(down)
            if isinstance(high, (int, float)) and isinstance(low, (int, float)) and high <= low:
                yield where.problem(f"`{up}` is {high} and `{down}` {low}: up must be above down", f"raise `{up}`")
    size = config.get("fpm_sample_bucket_size")
    if isinstance(size, int) and size > 0 and int(size**0.5) ** 2 != size:
        yield where.problem(f"`fpm_sample_bucket_size` is {size}, not a square", "write 16, 25, 36, …")


@manifest_rule(
    "IF-SCL-004",
    "a planner that reads no Prometheus",
    severity="warning",
    joins=("engine", "cluster"),
    why="without metrics the planner never scales, and says so only in its log (dynamo#4412).",
    do="set PROMETHEUS_ENDPOINT to the address of a Prometheus Service that is deployed.",
    source=f"{_PLANNER}; dynamo#4412",
)
def planner_has_prometheus(manifests: Manifests) -> Iterator[Problem]:
    services = {(s.name, s.namespace) for s in manifests.of_kind("Service")}
    for workload, process in planners(manifests):
        config, where = config_of(manifests, workload, process)
        variable = process.env("PROMETHEUS_ENDPOINT")
        stated = (config or {}).get("metric_pulling_prometheus_endpoint")
        if stated is None and variable is None:
            if not process.container.env_from and (config is not None or process.option("--config") is None):
                yield where.problem(
                    f"`{workload.name}` has no PROMETHEUS_ENDPOINT: it asks {_DEFAULT_HOST}.svc.cluster.local:9090, "
                    "which only a kube-prometheus-stack called `prometheus` in `monitoring` answers",
                    "set PROMETHEUS_ENDPOINT to your Prometheus",
                )
            continue
        address = stated if isinstance(stated, str) else variable.value if variable else None
        place = where if isinstance(stated, str) or variable is None else spot(variable.ref)
        if address is not None:
            yield from _address(address, place, services, workload)


def _address(address: str, where: Spot, services: set[tuple[str, str]], workload: Workload) -> Iterator[Problem]:
    match = re.fullmatch(r"https?://([A-Za-z0-9.-]+)(:[0-9]+)?(/.*)?", address)
    if "$" in address or "{{" in address:
        return
    if match is None:
        yield where.problem(
            f"PROMETHEUS_ENDPOINT of `{workload.name}` is `{address}`, no address of a server",
            "write `http://SERVICE.NAMESPACE.svc.cluster.local:9090`",
            severity="error",
        )
        return
    host = match[1]
    parts = host.split(".")
    if host in ("localhost", "127.0.0.1"):
        yield where.problem(
            f"PROMETHEUS_ENDPOINT of `{workload.name}` is its own pod, where no Prometheus runs",
            "write the Service of your Prometheus",
        )
    elif len(parts) == 1 and services and (host, workload.namespace) not in services:
        yield where.problem(
            f"no Service `{host}` stands in the namespace of `{workload.name}`", "write its name with its namespace"
        )
    elif len(parts) > 2 and parts[2] == "svc" and (parts[0], parts[1]) not in services:
        here = {namespace for _, namespace in services}
        if parts[1] in here:
            yield where.problem(
                f"no Service `{parts[0]}` stands in namespace `{parts[1]}` of these manifests",
                "write the name of the Service that is deployed",
            )
