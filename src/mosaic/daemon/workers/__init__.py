"""Which workers there are, found without importing any of them here."""
