"""Live frames of a run: the mosaic of its environments, and the line below it."""
