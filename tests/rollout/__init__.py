"""Judging against a Prometheus, and the workflow that does it."""
