"""What runs in a cell's cluster to serve: graphs of components, routers over tiers, models on the nodes."""
