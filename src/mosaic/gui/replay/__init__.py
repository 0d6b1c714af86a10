"""Recorded episodes, step by step."""
