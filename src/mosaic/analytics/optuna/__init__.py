"""Optuna: reads its studies, from a journal or from SQLite, and orders their trials."""
