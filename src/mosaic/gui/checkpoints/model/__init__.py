"""Checkpoints without Qt: what is known about them, and their files."""
