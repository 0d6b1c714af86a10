"""What a run said: from its journal into a store of its own, exactly once, and back out."""
