"""What can go wrong in a review, as seen by whoever runs it."""


class ReviewError(Exception):
    """A review cannot be made as asked; the message says why and what to do. Exit code 1."""


class BadPlan(Exception):
    """A Terraform plan cannot be read; the message says why and which command to run. Exit code 2."""
