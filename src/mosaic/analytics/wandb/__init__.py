"""W&B: reads its logs without a network, and uploads offline runs with its own program."""
