"""The durable registry of runs: verified rows, one writer, backup and rebuild."""
