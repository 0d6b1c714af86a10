"""What every algorithm needs and none should rewrite."""
