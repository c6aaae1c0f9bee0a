"""Monitors, rules, routes and dashboards of a cell, from the plan."""
