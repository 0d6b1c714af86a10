"""The program that searches logs: `python -m mosaic.telemetry.log_search_process`.

It reads one JSON object from standard input and answers in JSON lines:

    {"found": [log, line number, line]}    a match
    {"at": log}                            a sign of life
    {"error": {...}}                       an error of ours, as it crosses the wire
    {"done": true}                         the end; where it is missing, something went wrong
"""

from __future__ import annotations

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

from mosaic.errors import MosaicError
from mosaic.telemetry.log_search import matcher, search_logs

# Should nobody be left to end it.
MAX_CPU_S = 120
MAX_MEMORY_BYTES = 1 << 30
_NICENESS = 5


def main() -> int:
    resource.setrlimit(resource.RLIMIT_CPU, (MAX_CPU_S, MAX_CPU_S))
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    os.nice(_NICENESS)
    request = json.load(sys.stdin)
    _say(at=0)
    try:
        wanted = matcher(request["text"], request["is_regex"], request["ignore_case"])
        logs = [Path(log) for log in request["logs"]]
        for found in search_logs(logs, wanted, request["limit"], lambda log: _say(at=log)):
            _say(found=found)
    except MosaicError as error:
        _say(error=error.to_dict())
        return 0
    _say(done=True)
    return 0


def _say(**message: Any) -> None:
    sys.stdout.write(json.dumps(message) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except BrokenPipeError:  # whoever asked is gone
        os._exit(0)
