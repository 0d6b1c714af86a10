"""Agents that deliberate: what they say and what their tables are worth, read while it grows."""
