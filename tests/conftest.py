"""For all tests: one thread for numpy, and signals that programs under test can receive."""

import os
import signal

# Threads cost small networks more than they gain.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
# A shell starts background jobs with the interrupt ignored, and every child would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)
# So does `nohup` with the one that says the terminal is gone.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
