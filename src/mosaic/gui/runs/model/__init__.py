"""Runs as rows, their order, their logs and their failures. No Qt."""
