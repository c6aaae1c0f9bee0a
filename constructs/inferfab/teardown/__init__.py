"""What an environment loses when it is destroyed, and in which order that goes."""
