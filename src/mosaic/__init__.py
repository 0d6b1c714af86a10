"""MOSAIC: a reinforcement-learning workbench whose runs are never lost."""

__version__ = "0.1.0"
