"""Comparing groups of runs: curves over seeds, what can be told apart, and reports about it."""
