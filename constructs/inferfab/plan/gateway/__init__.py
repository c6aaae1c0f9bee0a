"""The entrance of a cell: who may come in, how much of what, and where it goes."""
