"""FleetPlan and findings to text. Nothing in here decides anything."""
