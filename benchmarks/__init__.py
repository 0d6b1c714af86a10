"""Benchmarks of the hot paths. `make bench` runs them all, one after the other."""
