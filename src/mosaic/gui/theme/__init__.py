"""Colours, type and icons: one palette file, one style template."""
