"""Runs that are not over: their lifecycle, the queue, and who carries it all out."""
