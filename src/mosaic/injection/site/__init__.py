"""The folder that goes first on PYTHONPATH."""
