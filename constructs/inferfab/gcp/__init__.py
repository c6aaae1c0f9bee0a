"""Constructs for Google Cloud: networks, GKE on a RoCE fabric, the model store. One file a concept."""
