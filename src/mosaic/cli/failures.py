"""Errors on standard error, and the exit status that tells scripts what happened."""

from __future__ import annotations

import json
import sys

from mosaic.cli.terminal import paint, printable, printable_json, say_aside
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.errors import MosaicError

INTERRUPTED = 130  # 128 + SIGINT, as shells report it
OUTCOME_STATUS = {Outcome.SUCCEEDED: 0, Outcome.FAILED: 1, Outcome.CANCELED: 9}


def outcome_status(record: RunRecord) -> int:
    return OUTCOME_STATUS[record.outcome] if record.outcome else 0


def report(error: MosaicError, as_json: bool) -> int:
    """Print the error and return its exit status."""
    if as_json:
        say_aside(printable_json(json.dumps({"error": error.to_dict()}, default=str)))
        return error.exit_status
    label = paint("mosaic:", "red", sys.stderr)
    say_aside(f"{label} {printable(error.message)}")
    for line in error.details.get("stderr_tail", ()):
        say_aside(f"  | {printable(str(line))}")
    if error.hint:
        say_aside(f"{paint('hint:', 'yellow', sys.stderr)} {printable(error.hint)}")
    return error.exit_status
