"""Dies of an exception, or of a signal: `crashes.py [SIGSEGV|SIGKILL|…]`."""

import os
import signal
import sys

if len(sys.argv) > 1:
    os.kill(os.getpid(), signal.Signals[sys.argv[1]])
raise RuntimeError("this worker crashes on purpose")
