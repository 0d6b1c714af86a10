"""Prints `floods.py <megabytes> [stdout|stderr]` of text as fast as it can, then ends."""

import sys

megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 50
stream = sys.stderr if sys.argv[2:] == ["stderr"] else sys.stdout
line = b"x" * 99 + b"\n"
block = line * 10_000
for _ in range(megabytes):
    stream.buffer.write(block)
stream.buffer.flush()
