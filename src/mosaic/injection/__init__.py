"""Injection: what an unmodified script does reaches the run that started it.

A `sitecustomize` on PYTHONPATH hooks into libraries as they are imported; episodes and scalars go
through a FIFO (`bridge`), frames into FastLane. Standard library only, Python 3.9 and newer: this
package travels into foreign environments, where it must never break or slow the script.
"""
