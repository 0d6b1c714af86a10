"""Dependency bundles in the daemon: what runs need, installs under way, and who waits for them."""
