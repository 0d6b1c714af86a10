"""What workers and environments need, as a page: what there is, installed with a click."""
