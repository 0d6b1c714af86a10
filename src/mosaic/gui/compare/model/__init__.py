"""Comparisons without Qt: how one is made, and how it reads."""
