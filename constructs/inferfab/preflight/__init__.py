"""What an account must have before a fleet can be deployed: looked up, and never changed."""
