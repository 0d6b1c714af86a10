"""From a stored run to the exact command, environment and secrets its run host gets."""
