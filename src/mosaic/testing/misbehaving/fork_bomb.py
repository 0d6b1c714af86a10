"""Forks as fast as it can, each child too, up to `fork_bomb.py <most processes>` (default 500)."""

import contextlib
import os
import sys
import time

most = int(sys.argv[1]) if len(sys.argv) > 1 else 500
# A byte in the pipe is the right to one more process: the bomb is bounded without a counter.
read_end, write_end = os.pipe()
os.set_blocking(read_end, False)
os.write(write_end, b"." * min(most, 60_000))
while True:
    try:
        os.read(read_end, 1)
    except BlockingIOError:
        time.sleep(3600)
        continue
    with contextlib.suppress(BlockingIOError):  # the system refused one more process
        os.fork()
