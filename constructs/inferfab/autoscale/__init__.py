"""Forecasts of demand, and what they would have done: the arithmetic that Prometheus does in the cluster, here."""
