"""The window around the features: docks, header, palette, the lists of pages and tabs."""
