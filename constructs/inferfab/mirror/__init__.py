"""Every image and chart of a fleet, and what copies them into a registry of one's own."""
