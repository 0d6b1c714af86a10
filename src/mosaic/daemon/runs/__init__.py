"""Runs that are not over: their lifecycle, the queue, and the code that carries it out."""
