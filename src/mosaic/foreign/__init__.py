"""What somebody else wrote (workers, scripts, archives), read safely."""
