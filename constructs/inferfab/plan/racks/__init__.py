"""Owned racks: what stands where, which server serves what, and what each leaf's ports need."""
