"""The bundles that come with MOSAIC: definitions, requirements and locks. Data only."""
