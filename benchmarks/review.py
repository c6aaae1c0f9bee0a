"""How long `inferfab review` takes, and in what memory, as a plan grows.

Run with ``make bench``. The plan is as `terraform show -json` writes it: each resource stands in it four times (planned
values, changes, prior state, configuration). A tenth are EKS node groups with a launch template of their own, a tenth
security group rules, a tenth are replaced, the rest tags. Each run is a process of its own.
"""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

FORMATS = ("markdown", "json", "sarif", "html")
_MEASURED = """
import resource, sys, time
start = time.perf_counter()
from inferfab.cli.main import main
sys.argv = ["inferfab", *sys.argv[1:]]
try:
    main()
except SystemExit:
    pass
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(f"{time.perf_counter() - start:.2f} {peak:.0f}", file=sys.stderr)
"""


def plan_text(changes: int) -> str:
    """A plan with so many resource changes."""
    made = list(_resources(changes))
    values = [
        {"address": a, "mode": "managed", "type": t, "name": n, "values": new or old} for a, t, n, old, new in made
    ]
    return json.dumps(
        {
            "format_version": "1.2",
            "terraform_version": "1.11.4",
            "planned_values": {"root_module": {"resources": values}},
            "resource_changes": [_change(*one) for one in made],
            "prior_state": {"format_version": "1.0", "values": {"root_module": {"resources": values}}},
            "configuration": {
                "provider_config": {"aws": {"name": "aws", "expressions": {"region": {"constant_value": "us-east-1"}}}},
                "root_module": {"resources": [_configured(a, t, n) for a, t, n, _, _ in made]},
            },
            "timestamp": "2026-11-30T12:00:00Z",
            "complete": True,
            "errored": False,
        }
    )


Resource = tuple[str, str, str, dict[str, Any] | None, dict[str, Any] | None]


def _resources(count: int) -> Iterator[Resource]:
    for n in range(count):
        kind, name = n % 10, f"r{n}"
        tags = {f"tag-{i}": f"value-{i}-{n}" for i in range(8)}
        if kind == 0:
            size = {"min_size": 1, "desired_size": 2, "max_size": 4}
            old = {"scaling_config": [size], "launch_template": [{"id": f"lt-{n}"}], "labels": tags, "tags": tags}
            new = {**old, "scaling_config": [{**size, "desired_size": 3}]}
            yield f"aws_eks_node_group.{name}", "aws_eks_node_group", name, old, new
        elif kind == 1:
            template = {"id": f"lt-{n - 1}", "instance_type": "p5.48xlarge", "user_data": "x" * 400, "tags": tags}
            yield f"aws_launch_template.{name}", "aws_launch_template", name, template, template
        elif kind == 2:
            rule = {"cidr_ipv4": "10.0.0.0/8", "ip_protocol": "tcp", "from_port": 443, "to_port": 443, "tags": tags}
            type_ = "aws_vpc_security_group_ingress_rule"
            yield f"{type_}.{name}", type_, name, None, rule
        elif kind == 3:
            volume = {"size": 100, "tags": tags}
            yield f"aws_ebs_volume.{name}", "aws_ebs_volume", name, volume, {**volume, "size": 50}
        else:
            topic = {"name": name, "display_name": "d", "policy": "{}", "tags": tags}
            yield f"aws_sns_topic.{name}", "aws_sns_topic", name, topic, {**topic, "display_name": "e"}


def _change(address: str, type_: str, name: str, old: Any, new: Any) -> dict[str, Any]:
    actions = ["create"] if old is None else ["no-op"] if old == new else ["update"]
    if type_ == "aws_ebs_volume":
        actions = ["delete", "create"]
    marks = {"tags": {}}
    change = {"actions": actions, "before": old, "after": new, "after_unknown": {"id": True}}
    change |= {"before_sensitive": marks, "after_sensitive": marks}
    if len(actions) == 2:
        change["replace_paths"] = [["size"]]
    return {"address": address, "mode": "managed", "type": type_, "name": name, "change": change}


def _configured(address: str, type_: str, name: str) -> dict[str, Any]:
    expressions = {"tags": {"constant_value": {"a": "b"}}, "name": {"constant_value": name}}
    return {
        "address": address, "mode": "managed", "type": type_, "name": name, "provider_config_key": "aws",
        "expressions": expressions,
    }  # fmt: skip


def measured(plan: Path, name: str) -> tuple[float, float]:
    """(seconds, MiB) of one process."""
    words = (sys.executable, "-c", _MEASURED, "review", str(plan), "--format", name, "--out", "/dev/null")
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    seconds, peak = done.stderr.split()[-2:]
    return float(seconds), float(peak)


def main(console: Console) -> None:
    table = Table("resource changes", "MiB of JSON", "format", "seconds", "MiB", title="inferfab review PLAN")
    with tempfile.TemporaryDirectory() as folder:
        for changes in (100, 1_000, 10_000):
            plan = Path(folder) / f"{changes}.json"
            plan.write_text(plan_text(changes), encoding="utf-8")
            for name in FORMATS:
                middle = sorted(measured(plan, name) for _ in range(3))[1]
                size = plan.stat().st_size / 2**20
                table.add_row(f"{changes:,}", f"{size:.1f}", name, f"{middle[0]:.2f}", f"{middle[1]:.0f}")
    console.print(table)


if __name__ == "__main__":
    main(Console(width=100))
