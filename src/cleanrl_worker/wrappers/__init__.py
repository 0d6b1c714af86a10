"""The pre-processing of the environment families: one thin wrapper around the raw environment."""
