"""The script worker's program: `python -m mosaic.watch.cli --config FILE`."""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
from collections.abc import Sequence

from mosaic.watch import get_worker_metadata
from mosaic.watch.config import ScriptConfig
from mosaic.watch.watching import describe, watch
from mosaic.worker import Run, worker_main


def main(argv: Sequence[str] | None = None) -> int:
    killed_by = 0

    def train(run: Run[ScriptConfig]) -> None:
        nonlocal killed_by
        status, failure = watch(run, run.config)
        if failure is not None:
            killed_by = max(0, -status)
            raise failure

    exit_code = worker_main(get_worker_metadata, ScriptConfig, train, argv, check=describe)
    if killed_by:
        _die_of(killed_by)
    return exit_code


def _die_of(number: int) -> None:
    """End as the script did, so that whoever waits for this process sees the same signal."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the script's own is the one to look at
    with contextlib.suppress(OSError, ValueError):
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


if __name__ == "__main__":
    sys.exit(main())
