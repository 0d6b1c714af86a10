"""Snapshots of environments: taken in one process, put back in another, bit for bit."""
