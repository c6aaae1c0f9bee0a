"""What an upgrade changes, in which order, and what each tier keeps meanwhile. Nothing is executed."""
