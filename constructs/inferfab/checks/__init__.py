"""The rules, grouped by the layers they join; one registry, one finding type."""
