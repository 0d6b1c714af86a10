"""Closes its output at once, lives on for `closes_stdout.py <seconds>`, then ends normally."""

import os
import sys
import time

print("closing", flush=True)
for fd in (1, 2):
    os.close(fd)
time.sleep(float(sys.argv[1]) if len(sys.argv) > 1 else 1.0)
os._exit(0)
