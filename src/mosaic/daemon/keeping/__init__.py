"""What is kept of runs that are over: the trash, retention, archives that move between homes."""
