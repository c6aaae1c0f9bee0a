"""Rollouts: cells, shares, judgements."""
