"""Several runs side by side: curves, statistics, differences."""
