"""What a run reported: from its journal into its own store, exactly once, and back out."""
