"""Runs as rows, their order and their logs. No Qt."""
