"""Bundles as rows, sentences and plans. Pure."""
