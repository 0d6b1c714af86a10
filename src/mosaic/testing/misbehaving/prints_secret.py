"""Prints a variable of its environment in every way it can: `prints_secret.py WANDB_API_KEY`."""

import json
import os
import sys
import time

value = os.environ[sys.argv[1]]
half = len(value) // 2
for stream in (sys.stdout, sys.stderr):
    print(f"key={value} again {value}{value}", file=stream)
    print(json.dumps({"type": "heartbeat", "payload": {"key": value}}), file=stream, flush=True)
    # In two writes, so that no reader sees it in one piece.
    print(f"split {value[:half]}", end="", file=stream, flush=True)
    time.sleep(0.1)
    print(value[half:], file=stream, flush=True)
raise RuntimeError(f"cannot log in with {value}")
