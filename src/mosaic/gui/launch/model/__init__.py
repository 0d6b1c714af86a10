"""What can be started, by whom and where, and the forms that describe it. No Qt."""
