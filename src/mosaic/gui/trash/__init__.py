"""What was deleted, until it goes for good."""
