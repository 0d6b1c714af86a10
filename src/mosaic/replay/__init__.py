"""Recorded episodes are replayed here: no pixels are stored, the environment draws them anew.

`simulator` is the program that does it, in the interpreter of the worker that recorded the episode.
`simulation` is what its owner has in hand.
"""
