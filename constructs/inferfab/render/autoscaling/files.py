"""The files of a cell's autoscaling release."""

from collections.abc import Iterator

from inferfab.catalog.charts import charts, image
from inferfab.plan.autoscaling.autoscaling import AutoscalingPlan, PoolAutoscaling
from inferfab.plan.autoscaling.placeholders import (
    PLACEHOLDER_CLASS,
    PLACEHOLDER_DELAY_SECONDS,
    PLACEHOLDER_PRIORITY,
    PlaceholderPlan,
)
from inferfab.plan.fleet import CellPlan
from inferfab.plan.names import SERVING_NAMESPACE
from inferfab.plan.prometheus import prometheus_url
from inferfab.render.autoscaling.forecast_rules import Rule, forecast_rules, selector
from inferfab.render.autoscaling.worker_rules import PLACEHOLDERS, rate_rule, triggers, worker_rules
from inferfab.render.serving.graph import tolerations
from inferfab.render.templates import render


def autoscaling_files(cell: CellPlan) -> dict[str, str]:
    """Every object of the release, as files that ``kubectl apply`` takes; none where no pool's demand is known."""
    return dict(sorted(_files(cell, None)))


def autoscaling_chart(cell: CellPlan) -> tuple[dict[str, str], dict[str, str]]:
    """The same for a Helm chart, with a placeholder where KEDA owns a number once it is there."""
    live: dict[str, str] = {}
    files = {path.replace("/", "-"): text for path, text in sorted(_files(cell, live))}
    return files, live


def labels_of(cell: CellPlan, pool: PoolAutoscaling) -> dict[str, str]:
    """Labels of what is recorded of a pool."""
    return {"cell": cell.name, "tier": pool.tier, "pool": pool.pool, "model": pool.model}


def pool_rules(cell: CellPlan, pool: PoolAutoscaling) -> list[Rule]:
    """All rules of one pool, in the order in which they must be evaluated."""
    if pool.demand is None or pool.forecast is None:
        return []
    labels = labels_of(cell, pool)
    of = {"cell": cell.name, "pool": pool.pool}
    rules = [rate_rule(pool.demand, labels), *forecast_rules(of, pool.forecast, labels)]
    for role in pool.roles:
        rules += worker_rules(pool, role, of, labels)
    return rules


def _files(cell: CellPlan, live: dict[str, str] | None) -> Iterator[tuple[str, str]]:
    plan = cell.autoscaling
    groups = [(p, pool_rules(cell, p)) for p in plan.pools] if plan else []
    if plan is None or not any(rules for _, rules in groups):
        return
    yield (
        "forecast-rules.yaml",
        render(
            "autoscaling/rules.yaml.j2",
            name="inferfab-autoscaling",
            namespace=charts()["kube-prometheus-stack"].namespace,
            interval=plan.interval_seconds,
            groups=[
                {"name": f"inferfab-autoscaling-{p.pool}", "title": _title(p), "rules": rules}
                for p, rules in groups
                if rules
            ],
        ),
    )
    for pool in plan.pools:
        owned = [_scaled_object(cell, plan, pool, role.role) for role in pool.roles if triggers(pool, role)]
        if owned:
            yield (
                f"workers/{pool.pool}.yaml",
                render("autoscaling/scaled_objects.yaml.j2", objects=owned, plan=plan, pool=pool, **_common(cell)),
            )
        if pool.placeholders:
            parts = [_placeholder(cell, pool, one, live) for one in pool.placeholders]
            yield (
                f"placeholders/{pool.pool}.yaml",
                render("autoscaling/placeholders.yaml.j2", parts=parts, plan=plan, pool=pool, **_common(cell)),
            )
    if any(p.placeholders for p in plan.pools):
        yield (
            "priority-class.yaml",
            render("autoscaling/priority_class.yaml.j2", name=PLACEHOLDER_CLASS, value=PLACEHOLDER_PRIORITY),
        )


def _common(cell: CellPlan) -> dict[str, object]:
    return {
        "namespace": SERVING_NAMESPACE,
        "prometheus": prometheus_url(),
        "priority_class": PLACEHOLDER_CLASS,
        "image": cell.images.reference(image("pause").reference),
        "pull_secret": cell.images.pull_secret,
        "delay_seconds": PLACEHOLDER_DELAY_SECONDS,
    }


def _title(pool: PoolAutoscaling) -> str:
    owner = {
        "fixed": "its workers are fixed",
        "planner": "its workers belong to Dynamo's planner",
        "keda": "its workers belong to KEDA",
    }
    return f"pools.{pool.pool}: {owner[pool.mode]}."


def _scaled_object(cell: CellPlan, plan: AutoscalingPlan, pool: PoolAutoscaling, name: str) -> dict[str, object]:
    role = pool.role(name)
    me = selector({"cell": cell.name, "pool": pool.pool, "role": role.role})
    return {
        "name": f"{pool.pool}-{role.role}",
        "role": role,
        "bounds_from": f"pools.{pool.pool}.{role.role}.replicas",
        "labels": _labels(cell, pool, role.role),
        "triggers": [
            {"name": series.rpartition(":")[2], "query": f"max({series}{me})"} for series in triggers(pool, role)
        ],
    }


def _placeholder(
    cell: CellPlan, pool: PoolAutoscaling, one: PlaceholderPlan, live: dict[str, str] | None
) -> dict[str, object]:
    group = cell.node_group(one.node_group)
    replicas = None
    if live is not None:
        replicas = f"live-replicas-of-{one.name}"
        live[replicas] = _live(one.name)
    return {
        "plan": one,
        "labels": _labels(cell, pool, one.role) | {"app.kubernetes.io/name": one.name},
        "selector": {"app.kubernetes.io/name": one.name},
        "node_selector": group.labels,
        "tolerations": tolerations(group),
        "replicas": replicas,
        "query": f"max({PLACEHOLDERS}{selector({'cell': cell.name, 'pool': pool.pool, 'role': one.role})})",
    }


def _labels(cell: CellPlan, pool: PoolAutoscaling, role: str) -> dict[str, str]:
    return {
        "app.kubernetes.io/part-of": "inferfab",
        "inferfab/cell": cell.name,
        "inferfab/scales": pool.pool,
        "inferfab/scales-role": role,
    }


def _live(name: str) -> str:
    """What KEDA has set, and none at first."""
    return (
        "{{- $live := 0 -}}"
        f'{{{{- with (lookup "apps/v1" "Deployment" "{SERVING_NAMESPACE}" "{name}") -}}}}'
        '{{- $live = dig "spec" "replicas" 0 . -}}{{- end }} {{ $live }}'
    )
