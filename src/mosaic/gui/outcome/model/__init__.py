"""What came of a run, in words. No Qt."""
