"""The environments the worker trains on: families, making, batches, catalogue."""
