"""Series of pools that dashboards, alerts and cost read: the same expressions in every cell."""

from inferfab.render.observability.rule import Group, Rule

_GPU_POOLS = 'label_inferfab_pool!="",label_inferfab_pool!="system"'


def _renamed(inner: str, **labels: str) -> str:
    """Labels of kube-state-metrics under our names."""
    for ours, theirs in labels.items():
        inner = f'label_replace({inner}, "{ours}", "$1", "{theirs}", "(.+)")'
    return inner


_NODES = _renamed(
    f"kube_node_labels{{{_GPU_POOLS}}}",
    cell="label_inferfab_cell",
    pool="label_inferfab_pool",
    role="label_inferfab_role",
)
_TIER = "* on (cell, pool) group_left (tier, model) (inferfab:pool:gpus_per_node > bool 0)"
"""Adds tier and model of the plan."""


def _of_pool(record: str, inner: str, comment: str = "") -> Rule:
    return Rule(record=record, expr=f"sum by (cell, tier, pool) ({inner})", comment=comment)


def recording_group() -> Group:
    return Group(
        name="inferfab-pools",
        rules=(
            Rule(
                record="inferfab:node_pool:info",
                expr=f"max by (node, cell, pool, role) ({_NODES})",
                comment="Which pool a GPU node belongs to.",
            ),
            Rule(record="inferfab:pool_nodes:count", expr="count by (cell, pool) (inferfab:node_pool:info)"),
            Rule(
                record="inferfab:pool_gpus:count",
                expr="inferfab:pool:gpus_per_node * on (cell, pool) group_left () inferfab:pool_nodes:count",
                comment="By nodes, for with resource claims no pod asks for nvidia.com/gpu.",
            ),
            _of_pool(
                "inferfab:pool_output_tokens:rate5m",
                'rate(vllm:generation_tokens_total{component=~"decode|worker"}[5m])',
                "Only where answers are written: prefill pods would count each first token again.",
            ),
            _of_pool(
                "inferfab:pool_prompt_tokens:rate5m",
                'rate(vllm:prompt_tokens_total{component=~"prefill|worker"}[5m])',
                "Only where prompts are read: decode pods count a prompt that came to them again.",
            ),
            _of_pool("inferfab:pool_waiting_requests:sum", "vllm:num_requests_waiting"),
            _of_pool("inferfab:pool_running_requests:sum", "vllm:num_requests_running"),
            Rule(
                record="inferfab:pool_kv_usage:ratio",
                expr="avg by (cell, tier, pool, component) (vllm:kv_cache_usage_perc)",
                comment="A share, in spite of the name; an average, for a sum of shares means nothing.",
            ),
            Rule(
                record="inferfab:pool_prefix_hits:ratio5m",
                expr=(
                    'sum by (cell, tier, pool) (rate(vllm:prefix_cache_hits_total{component=~"prefill|worker"}[5m]))\n'
                    "/ (sum by (cell, tier, pool)"
                    ' (rate(vllm:prefix_cache_queries_total{component=~"prefill|worker"}[5m])) > 0)'
                ),
                comment="Not on decode pods, which count a transferred prompt as a hit.",
            ),
            _of_pool("inferfab:pool_kv_transfer_bytes:rate5m", "rate(vllm:nixl_bytes_transferred_sum[5m])"),
            Rule(
                record="inferfab:pool_kv_transfer_speed:bytes_per_second",
                expr=(
                    "sum by (cell, tier, pool) (rate(vllm:nixl_bytes_transferred_sum[5m]))\n"
                    "/ (sum by (cell, tier, pool) (rate(vllm:nixl_xfer_time_seconds_sum[5m])) > 0)"
                ),
                comment="While a transfer runs: bytes over the time that it took. Each GPU's is timed by itself, so "
                "this is the speed of one GPU, not of the worker.",
            ),
            Rule(
                record="inferfab:pool_rdma_bytes:rate5m",
                expr=(
                    "sum by (cell, pool) (\n"
                    "  (\n"
                    "    sum by (node) (rate(node_infiniband_port_data_received_bytes_total[5m]))\n"
                    "    or sum by (node) (rate(node_amazonefa_rdma_read_bytes[5m]))\n"
                    "  ) * on (node) group_left (cell, pool) inferfab:node_pool:info\n"
                    ")"
                ),
                comment="What NICs of the pool's nodes received by RDMA.",
            ),
            Rule(
                record="inferfab:route_requests:rate5m",
                expr="sum by (cell, tier, pool, route, model) (rate(dynamo_frontend_requests_started_total[5m]))",
                comment="Behind a router over tiers, tier and pool are not known here.",
            ),
            Rule(
                record="inferfab:route_errors:rate5m",
                expr=(
                    "sum by (cell, tier, pool, route, model, error_type)"
                    ' (rate(dynamo_frontend_requests_total{error_type!=""}[5m]))'
                ),
            ),
            Rule(
                record="inferfab:route_queue_wait_seconds:avg5m",
                expr=(
                    "sum by (cell, tier, pool, route, policy_class)"
                    " (avg_over_time(dynamo_frontend_router_queue_pending_requests[5m]))\n"
                    "/ (sum by (cell, tier, pool, route, policy_class)"
                    " (rate(dynamo_frontend_router_admission_received_total[5m])) > 0)"
                ),
                comment="Little's law, a mean: Dynamo 1.6 exports no wait by class.",
            ),
        ),
    )


def cost_group() -> Group:
    """Dollars of the nodes that stand there, busy or idle, over tokens; in both definitions."""
    day, week = 86400, 604800
    rules = [
        Rule(
            record="inferfab:pool_cost_usd:per_hour",
            # Reserved nodes are paid for although they do not run. Without kube-state-metrics nothing is known.
            expr=(
                "inferfab:pool_price_usd:per_node_hour\n"
                "* on (cell, pool) group_left () (\n"
                "  (inferfab:pool_nodes:count >= on (cell, pool) sum without (tier, model) "
                "(inferfab:pool_reserved_nodes:count))\n"
                "  or sum without (tier, model) (inferfab:pool_reserved_nodes:count)\n"
                ")\n"
                "and on () (count(kube_node_info) > 0)"
            ),
            comment="By the plan's prices: nodes that run, or reserved ones where those are more.",
        ),
    ]
    for kind, inner in (
        ("output", "inferfab:pool_output_tokens:rate5m"),
        ("total", "(inferfab:pool_output_tokens:rate5m + inferfab:pool_prompt_tokens:rate5m)"),
    ):
        rules.append(
            Rule(
                record="inferfab:pool_tokens:rate5m",
                expr=f"{inner}\n{_TIER.replace('(tier, model)', '(model)')}",
                labels={"definition": f"{kind}_tokens"},
            )
        )
    for length, seconds in (("1d", day), ("7d", week)):
        hours = seconds // 3600
        rules += [
            Rule(
                record=f"inferfab:pool_cost_usd:sum{length}",
                expr=f"avg_over_time(inferfab:pool_cost_usd:per_hour[{length}]) * {hours}",
            ),
            Rule(
                record=f"inferfab:pool_tokens:sum{length}",
                expr=f"avg_over_time(inferfab:pool_tokens:rate5m[{length}]) * {seconds}",
            ),
        ]
        rules += [
            _per_million(level, length, f"{kind}_tokens")
            for level in ("pool", "tier", "model")
            for kind in ("output", "total")
        ]
    rules.append(
        Rule(
            record="inferfab:pool_usd_per_million_tokens:trend7d",
            expr=("inferfab:pool_usd_per_million_tokens:7d / (inferfab:pool_usd_per_million_tokens:7d offset 7d > 0)"),
            comment="This week over the one before it: 1.2 is 20 % more.",
        )
    )
    # Well below the five minutes after which Prometheus takes a series for gone.
    return Group(name="inferfab-cost", interval="2m", rules=tuple(rules))


def _per_million(level: str, length: str, definition: str) -> Rule:
    by = {"pool": "cell, tier, pool, model", "tier": "cell, tier", "model": "cell, model"}[level]
    return Rule(
        record=f"inferfab:{level}_usd_per_million_tokens:{length}",
        expr=(
            f"1e6 * sum by ({by}, bound) (inferfab:pool_cost_usd:sum{length})\n"
            f"/ on ({by}) group_left ()\n"
            f'(sum by ({by}) (inferfab:pool_tokens:sum{length}{{definition="{definition}"}}) > 0)'
        ),
        labels={"definition": definition},
    )
