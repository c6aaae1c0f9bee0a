"""Constructs for AWS, one file a concept. Each takes a small typed spec and serves in any CDKTF app."""
