"""The desktop workbench, by feature. `state/` and every `model` know no Qt."""
