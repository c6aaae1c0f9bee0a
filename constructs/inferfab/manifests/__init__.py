"""Kubernetes manifests that somebody else wrote: read forgivingly, kept with their places."""
