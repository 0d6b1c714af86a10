"""The lower panel: the table of runs, and their logs."""
