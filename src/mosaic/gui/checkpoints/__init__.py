"""Saved policies, as cards: to evaluate, deploy or train further."""
