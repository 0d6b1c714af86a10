"""What a run was started with, and where it comes from."""
