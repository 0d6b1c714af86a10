"""A run as one folder or one file: written, read by somebody who trusts nobody, taken in."""
