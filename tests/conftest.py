"""For all tests: one thread for numpy, whose threads cost small networks more than they gain."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
