"""How long what serves may take to end."""

DRAIN_SECONDS = 1800
"""An answer of 16,000 tokens at 100 ms each takes 27 minutes. Load balancers, the autoscaler and pods give the same;
who is done earlier ends earlier.
"""
ENGINE_DRAIN_SECONDS = DRAIN_SECONDS - 60
"""What Dynamo is told, so that it still has time to clean up."""
