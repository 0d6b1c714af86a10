"""The networks, one file per architecture; names and shapes are those of the published agents."""
