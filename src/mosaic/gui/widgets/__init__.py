"""Small widgets that several panels share; they know nothing of runs."""
