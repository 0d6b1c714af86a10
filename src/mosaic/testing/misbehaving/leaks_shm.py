"""Creates shared memory and never removes it: `leaks_shm.py <name prefix> [count]`."""

import os
import sys
from pathlib import Path

prefix = sys.argv[1]
for number in range(int(sys.argv[2]) if len(sys.argv) > 2 else 2):
    path = Path("/dev/shm") / f"{prefix}{os.getpid()}.{number}"
    path.write_bytes(b"\0" * 4096)
    print(path.name, flush=True)
