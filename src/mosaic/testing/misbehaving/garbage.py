"""Prints what no parser likes: random bytes, broken UTF-8, half JSON, JSON nested 100,000 deep."""

import os
import sys

out = sys.stdout.buffer
out.write(os.urandom(100_000) + b"\n")
out.write(b"\xff\xfe\xc3\x28\xed\xa0\x80 broken \x00 text\n")
out.write(b'{"type": "step", "reward": \n')
out.write(b'{"type": "step", "reward": NaN, "seq": -5, "timestamp": "yesterday"}\n')
out.write(b'{"type": ["step"], "seq": {}}\n')
out.write(b'{"type": "no_such_event"}\n')
out.write(b'{"type": "metric", "value": ' + b"[" * 100_000 + b"]" * 100_000 + b"}\n")
out.write(b'{"type": "metric", "value": ' + b"9" * 10_000 + b"}\n")
out.write(b"[1, 2, 3]\nnull\n\n\r\n")
out.write(b'{"type": "heartbeat", "payload": {"text": "\\ud800"}}\n')
out.write(b"no newline at the end")
out.flush()
