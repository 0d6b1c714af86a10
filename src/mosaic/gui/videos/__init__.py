"""The videos of a run."""
