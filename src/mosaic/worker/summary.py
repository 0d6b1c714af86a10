"""What is shown of a run and its config: secrets masked, as JSON or as lines for people."""

from __future__ import annotations

import json
import os
import shlex
import sys
from typing import Any

from mosaic.contracts.manifest import RuntimeSummary
from mosaic.contracts.secrets import SECRET_REFERENCE, is_secret_name
from mosaic.logs import MASK


def masked(value: Any, name: str = "") -> Any:
    """A copy in which every text under a secret-looking name is hidden."""
    if isinstance(value, dict):
        return {key: masked(item, str(key)) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [masked(item, name) for item in value]
    if isinstance(value, str) and value and is_secret_name(name):
        return value if value.startswith(SECRET_REFERENCE) else MASK
    return value


def print_summary(summary: RuntimeSummary, as_json: bool) -> None:
    if as_json:
        print_line(json.dumps(summary.to_dict()))
        return
    print_line(f"run id:  {summary.run_id}")
    print_line(f"worker:  {summary.worker_type}")
    print_line(f"status:  {summary.status}")
    print_line(f"command: {shlex.join(summary.command)}")
    for name, value in {**summary.config, **summary.extras}.items():
        print_line(f"  {name} = {json.dumps(value)}")


def print_line(text: str) -> None:
    """Print on stdout; a reader who has gone away is not an error of ours."""
    try:
        print(text, flush=True)
    except (BrokenPipeError, ValueError):
        drop_stdout()


def drop_stdout() -> None:
    """Let the interpreter's last flush go nowhere, instead of failing with status 120."""
    nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
    os.dup2(nowhere, 1)
    os.close(nowhere)


def flush_stdout() -> None:
    try:
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        drop_stdout()
