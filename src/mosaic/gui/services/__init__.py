"""What every panel is given: the daemon's answers, commands by name, the actions on runs."""
