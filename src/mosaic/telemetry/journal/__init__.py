"""The journal of a run: its bytes, plain or packed, its lines, and the events in them."""
