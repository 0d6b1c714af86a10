"""What runs have written so far: metrics, episodes, recordings, events and logs."""
