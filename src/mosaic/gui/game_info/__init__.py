"""What there is to know about an environment."""
