"""Faster ways to do what an algorithm's file says in plain torch; `--no-accelerate` turns them off.

For networks of a few thousand weights autograd spends its time on bookkeeping, not on arithmetic:
gradients derived by hand, in numpy, do the same maths with a tenth of the calls. Larger networks
gain from memory that is laid out once, and GPUs from updates replayed as one graph.

An accelerator has the methods of the plain learner it stands in for (`learners.py`), and shares the
networks and optimisers with it, so checkpoints are the same. A test holds each to the plain one.
"""
