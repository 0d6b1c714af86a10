"""The right panel: tabs made from what the selected run has."""
