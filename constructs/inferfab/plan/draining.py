"""How long what serves may take to end. Load balancers, the autoscaler, proxies, frontends and workers read one number
of the cell; who is done earlier ends earlier.
"""

from collections.abc import Iterable

DRAIN_SECONDS = 1800
"""At least: an answer of 16,000 tokens at 100 ms each takes 27 minutes. And that of plans of earlier releases."""
CLEAN_UP_SECONDS = 60
"""That a pod has beyond its last answer, to clean up."""
MOST_ANSWER_SECONDS = 3600
"""Nothing waits longer: AWS caps a target group's deregistration delay at 3,600 s (Elastic Load Balancing, target group
attributes), and GKE gives pods an hour when a node goes (GKE documentation, node upgrades; from memory).
"""


def drain_seconds(timeouts: Iterable[int]) -> int:
    """Grace of a cell's pods: the longest request that its tiers allow, up to an hour, and a minute to clean up."""
    longest = min(MOST_ANSWER_SECONDS, max(timeouts, default=0))
    return max(DRAIN_SECONDS, longest + CLEAN_UP_SECONDS)


def answer_seconds(drain: int) -> int:
    """What Dynamo's processes are told, so that they still have time to clean up."""
    return drain - CLEAN_UP_SECONDS


def deregistration_seconds(drain: int) -> int:
    """What load balancers give."""
    return min(MOST_ANSWER_SECONDS, drain)
