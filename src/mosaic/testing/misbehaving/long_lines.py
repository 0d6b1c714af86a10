"""Prints lines far over the limit, with sound events in between: `long_lines.py [mebibytes]`."""

import sys

size = (int(sys.argv[1]) if len(sys.argv) > 1 else 3) * 1_048_576
out = sys.stdout.buffer
for number in range(3):
    out.write(b'{"type": "metric", "name": "loss", "value": 1.0, "step": %d}\n' % number)
    out.write(b'{"type": "step", "observation": "' + b"x" * size + b'"}\n')
out.write(b'{"type": "metric", "name": "loss", "value": 1.0, "step": 3}\n')
out.flush()
