"""Judging a rollout: asks Prometheus, and leaves the judgement to the plan's rules."""
