"""What the workbench knows and decides. No Qt in here: tests reach all of it without a window."""
