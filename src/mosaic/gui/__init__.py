"""The desktop workbench. `state/` is plain Python; everything else shows it with Qt."""
