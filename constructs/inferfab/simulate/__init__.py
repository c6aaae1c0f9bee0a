"""The FleetPlan on Dynamo's own discrete-event simulator."""
