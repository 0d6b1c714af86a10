"""One file per algorithm: its hyperparameters, its loop and its maths, readable top to bottom."""

import os

# Before an algorithm imports numpy: its threads cost small networks more than they gain.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
