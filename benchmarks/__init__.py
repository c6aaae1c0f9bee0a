"""Measurements, side by side. Nothing here is asserted: figures belong to the machine that took them."""
