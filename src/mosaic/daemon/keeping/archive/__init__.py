"""A run as one folder or one file: written, read without trusting it, imported."""
