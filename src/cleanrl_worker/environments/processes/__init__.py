"""Environments shared out among processes, one per core."""
