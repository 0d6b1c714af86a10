"""The centre of a run that is over: what came of it, and what may come next."""
