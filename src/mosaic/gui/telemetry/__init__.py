"""Steps and episodes of a run, as they are reported."""
