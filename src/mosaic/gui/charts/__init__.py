"""Curves of runs, decimated by the daemon."""
