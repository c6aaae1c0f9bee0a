"""What a KV-aware router is told (``--router-policy-config``)."""

from pydantic import PositiveFloat, PositiveInt

from inferfab.record import Record


class RouterPolicy(Record):
    """Shared settings, and one queue class: a graph serves one tier, so its requests are equal.

    Keys: ``_ROUTER_SETTINGS`` in dynamo/common/configuration/groups/kv_router_args.py of ai-dynamo 1.6.1; the policy
    classes are read by the runtime (lib/kv-router).
    """

    family: str
    """Name of the queue class, and the default for requests that name none."""
    use_kv_events: bool
    """Workers tell what their caches hold; without, the router guesses from where it sent requests."""
    router_replica_sync: bool
    """Several routers share what they know of running requests."""
    router_track_active_blocks: bool
    """False for prefill only: its requests write no answer, so no cache grows with them."""
    prefill_busy_threshold_frac: PositiveFloat = 1.0
    """A request waits in the router while every worker has this share of a forward pass of prompt tokens to read."""
    request_queue_limit_per_worker: PositiveInt | None = None
    """So many requests wait for each worker; more are refused with 529. None: no end, behind a router over
    tiers and in plans of earlier releases."""


def router_policy(
    tier: str, *, prefix_caching: bool, routers: int, prefill_only: bool, queue_limit: int | None
) -> RouterPolicy:
    """
    :param prefill_only: the graph has no workers that write answers.
    :param queue_limit: requests that wait for each worker (:mod:`inferfab.plan.serving.admission`); None: no end.
    """
    return RouterPolicy(
        family=tier,
        use_kv_events=prefix_caching,
        router_replica_sync=routers > 1,
        router_track_active_blocks=not prefill_only,
        request_queue_limit_per_worker=queue_limit,
    )
