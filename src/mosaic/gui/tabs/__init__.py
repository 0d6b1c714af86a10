"""What tabs have in common: base classes, tables and lists, which of them a run has."""
