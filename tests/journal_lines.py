"""Lines of a journal for tests, as a worker would write them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mosaic.telemetry.journal.files import opened_journal

RUN_ID = "01JQ0000000000000000000000"
OTHER_RUN_ID = "01JQ0000000000000000000001"


def line(kind: str, seq: int, **fields: Any) -> bytes:
    event = {"type": kind, "seq": seq, "timestamp": 1_767_225_600.0 + seq * 0.001, **fields}
    return json.dumps(event, separators=(",", ":"), allow_nan=False).encode() + b"\n"


def registered(seq: int = 0, **fields: Any) -> bytes:
    known = {
        "run_id": RUN_ID,
        "agent_id": "agent-1",
        "worker_id": "worker-1",
        "schema_version": 1,
        "protocol": "MOSAIC/1",
        "capabilities": {"worker_type": "test"},
        "attempt": 1,
        "pid": 42,
    }
    return line("worker_registered", seq, **{**known, **fields})


def step(seq: int, **fields: Any) -> bytes:
    known = {
        "episode_index": seq // 10,
        "step_index": seq % 10,
        "action": seq % 2,
        "observation": [0.5, -1.25],
        "reward": 1.0,
        "terminated": False,
        "truncated": seq % 10 == 9,
    }
    return line("step", seq, **{**known, **fields})


def episode(seq: int, total_reward: float | str = 10.0, **fields: Any) -> bytes:
    known = {
        "episode_index": 0,
        "total_reward": total_reward,
        "steps": 10,
        "terminated": True,
        "truncated": False,
    }
    return line("episode", seq, **{**known, **fields})


def metric(seq: int, name: str = "loss", value: float | str = 0.5, at: int = 0) -> bytes:
    return line("metric", seq, name=name, value=value, step=at)


def lifecycle(kind: str, seq: int, **payload: Any) -> bytes:
    return line(kind, seq, payload=payload)


def content(journal: Path) -> bytes:
    """All of a journal, also when it was packed because its run is over."""
    with opened_journal(journal) as file:
        return file.read(file.size, 0)


def append(journal: Path, lines: Iterable[bytes]) -> None:
    with journal.open("ab") as file:
        file.writelines(lines)
