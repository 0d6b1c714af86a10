"""Speaks only JSON lines on stdout: `stdout_events.py [steps] [seconds between steps]`."""

import json
import sys
import time
from typing import Any


def emit(**event: Any) -> None:
    print(json.dumps(event), flush=pause_s > 0)


steps = int(sys.argv[1]) if len(sys.argv) > 1 else 100
pause_s = float(sys.argv[2]) if len(sys.argv) > 2 else 0.0
emit(
    type="worker_registered",
    schema_version=1,
    protocol="MOSAIC/1",
    capabilities={"worker_type": "stdout_events", "stdout_events": True},
)
print("an ordinary line of text")
emit(event="run_started", payload={"total_steps": steps})
for index in range(steps):
    emit(
        type="step",
        episode_index=index // 10,
        step_index=index % 10,
        action=index % 2,
        observation=[0.1, 0.2, 0.3, 0.4],
        reward=1.0,
        terminated=index % 10 == 9,
        truncated=False,
    )
    if index % 10 == 9:
        emit(
            type="episode",
            episode_index=index // 10,
            total_reward=10.0,
            steps=10,
            terminated=True,
            truncated=False,
        )
    if pause_s:
        time.sleep(pause_s)
emit(event="run_completed", payload={"steps": steps})
