"""The cheapest fleet that keeps every promise, searched on Dynamo's simulator."""
