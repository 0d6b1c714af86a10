"""What the plan editor decides and says. No Qt."""
