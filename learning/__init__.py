"""The learning suite: every algorithm must reach its published return. `make learn`."""
