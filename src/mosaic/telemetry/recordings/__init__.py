"""What runs recorded of their episodes, enough to simulate each again."""
