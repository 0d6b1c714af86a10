"""Bundles of packages, their locks, and the venvs that are made from them."""
