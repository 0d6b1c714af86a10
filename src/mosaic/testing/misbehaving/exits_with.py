"""Ends with the status given, at once or later: `exits_with.py 137 [--after SECONDS]`."""

import sys
import time

print("ending", flush=True)
if sys.argv[2:3] == ["--after"]:
    time.sleep(float(sys.argv[3]))
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
