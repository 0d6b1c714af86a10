"""Pre-flight checks: what would make a run fail for sure is told at submission, with a fix.

Each check takes a `Subject` and returns what it found; `checks.CHECKS` lists them.
"""
