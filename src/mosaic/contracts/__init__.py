"""The nouns of MOSAIC: what is submitted, what states it goes through, what workers say.

Standard library only, so that it travels into any environment a worker lives in.
"""
