"""CleanRL's own scripts, unmodified: found, read without being executed, and run as commands."""
