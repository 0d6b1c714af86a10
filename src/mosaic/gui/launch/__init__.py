"""The left panel: who shall act, in which environment, and the form that starts it."""
