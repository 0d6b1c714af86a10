"""Errors on standard error, and the exit status that tells scripts what happened."""

from __future__ import annotations

import json
import sys

from mosaic.cli.terminal import paint, printable
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
        print(json.dumps({"error": error.to_dict()}, default=str), file=sys.stderr, flush=True)
        return error.exit_status
    label = paint("mosaic:", "red", sys.stderr)
    print(f"{label} {printable(error.message)}", file=sys.stderr)
    for line in error.details.get("stderr_tail", ()):
        print(f"  | {printable(str(line))}", file=sys.stderr)
    if error.hint:
        print(f"{paint('hint:', 'yellow', sys.stderr)} {printable(error.hint)}", file=sys.stderr)
    sys.stderr.flush()
    return error.exit_status
