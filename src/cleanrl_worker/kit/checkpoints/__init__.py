"""Checkpoints: a crash at any moment leaves a whole one, and loading one executes nothing."""
