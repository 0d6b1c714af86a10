"""Charts without Qt: curves, the picture of a metric, names and numbers."""
