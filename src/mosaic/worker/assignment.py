"""Who this worker process is and where it writes: given by the daemon, or chosen when it runs
alone.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts import worker_environment as variables
from mosaic.contracts.hostile_text import is_run_id
from mosaic.errors import ConfigError

DEFAULT_HEARTBEAT_S = 30.0
DEFAULT_AGENT = "agent_0"
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


@dataclass(frozen=True)
class Assignment:
    run_id: str
    agent_id: str
    worker_id: str
    attempt: int = 1
    directory: Path | None = None
    output_directory: Path | None = None
    journal: Path | None = None
    max_steps: int | None = None
    heartbeat_s: float = DEFAULT_HEARTBEAT_S
    has_control: bool = False


def new_run_id() -> str:
    """A ULID: 48 bits of time in milliseconds, then 80 random bits; sorts by time."""
    number = int(time.time() * 1000) << 80 | int.from_bytes(os.urandom(10), "big")
    return "".join(_CROCKFORD[number >> shift & 31] for shift in range(125, -1, -5))


def read_assignment(
    environ: Mapping[str, str],
    worker_type: str,
    *,
    run_id: str = "",
    run_dir: str = "",
    config: Mapping[str, Any] | None = None,
) -> Assignment:
    """An argument wins over the daemon's variable, that over the worker's own config."""
    config = config or {}
    run_id = run_id or environ.get(variables.RUN_ID) or config.get("run_id") or new_run_id()
    if not is_run_id(run_id):
        raise ConfigError(
            f"'run_id': {str(run_id)[:64]!r} is not a run id",
            hint="a run id is a ULID of 26 characters; leave it out to get a new one",
            field="run_id",
        )
    folder = run_dir or environ.get(variables.RUN_DIR)
    directory = Path(folder).absolute() if folder else None
    outputs = environ.get(variables.OUTPUT_DIR)
    journal = environ.get(variables.JOURNAL)
    max_steps = _number(environ, variables.MAX_STEPS)
    return Assignment(
        run_id=run_id,
        agent_id=environ.get(variables.AGENT_ID) or config.get("agent_id") or DEFAULT_AGENT,
        worker_id=environ.get(variables.WORKER_ID) or config.get("worker_id") or worker_type,
        attempt=int(_number(environ, variables.ATTEMPT) or 1),
        directory=directory,
        output_directory=Path(outputs).absolute()
        if outputs
        else directory and directory / "outputs",
        journal=Path(journal) if journal else None,
        max_steps=int(max_steps) if max_steps else None,
        heartbeat_s=_number(environ, variables.HEARTBEAT_S) or DEFAULT_HEARTBEAT_S,
        has_control=environ.get(variables.CONTROL) == "stdin",
    )


def _number(environ: Mapping[str, str], name: str) -> float | None:
    text = environ.get(name)
    if not text:
        return None
    try:
        return float(text)
    except ValueError:
        raise ConfigError(f"{name} is {text[:64]!r}, not a number", field=name) from None
