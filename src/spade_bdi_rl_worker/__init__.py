"""Agents with beliefs, goals and plans (SPADE) that learn with Q-tables."""
