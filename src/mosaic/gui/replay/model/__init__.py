"""A replay without Qt."""
