"""The monthly re-optimisation: the environment changed for last month's traffic, as a diff."""
