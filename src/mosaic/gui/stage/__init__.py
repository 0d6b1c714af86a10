"""The centre of the window: one page at a time."""
