"""Ends at once with the status given: `exits_with.py 137`."""

import sys

print("ending", flush=True)
sys.exit(int(sys.argv[1]) if len(sys.argv) > 1 else 3)
