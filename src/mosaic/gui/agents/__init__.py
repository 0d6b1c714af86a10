"""What the agents of a run believe, want, say and know, and how a person talks to them."""
