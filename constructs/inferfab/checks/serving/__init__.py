"""Rules about engines that serve together, over one view of a plan's pools and of anybody's manifests."""
