"""What of a cell is measured against its promises, and at which prices."""
