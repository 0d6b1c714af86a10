"""The trials of an Optuna study."""
