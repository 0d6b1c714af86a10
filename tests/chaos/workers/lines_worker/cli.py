"""Prints every step as a line of JSON; uses nothing of the SDK."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

config = json.loads(Path(sys.argv[sys.argv.index("--config") + 1]).read_text())
proof = os.open(config["proof"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
os.write(proof, b"started\n")
for index in range(config["steps"]):
    step = {"type": "step", "episode_index": 0, "step_index": index, "reward": 1.0}
    print(json.dumps({**step, "terminated": False, "truncated": False}), flush=True)
    time.sleep(config["pause_s"])
sys.exit(config["exit_code"])
