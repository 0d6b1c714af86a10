"""What several features share and decide. No Qt: tests reach it without a window."""
