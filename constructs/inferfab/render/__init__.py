"""From a FleetPlan to text: each output writes down what the plan decided, and decides nothing itself."""
