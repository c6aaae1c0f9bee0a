"""What scales a cell's pools: recording rules, KEDA's objects, and pods that keep room."""
