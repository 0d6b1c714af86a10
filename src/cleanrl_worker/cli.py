"""The CleanRL worker's program: `python -m cleanrl_worker.cli --config FILE`."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any

import cleanrl_worker.thread_environment  # noqa: F401  # before numpy and torch
from cleanrl_worker import get_worker_metadata
from cleanrl_worker.config import SHORTCUTS, CleanRLWorkerConfig
from mosaic.contracts.worker_environment import JOURNAL
from mosaic.worker import Run, worker_main


def check(config: CleanRLWorkerConfig) -> dict[str, Any]:
    # Imported here: `--describe` and `--help` need no torch.
    from cleanrl_worker.runtime import check

    return check(config)


def train(run: Run[CleanRLWorkerConfig]) -> None:
    from cleanrl_worker.runtime import execute

    execute(run)


def main(argv: Sequence[str] | None = None) -> int:
    arguments = list(sys.argv[1:] if argv is None else argv)
    if "--interactive" in arguments:
        # Without a journal stdout would carry the events; here it carries the answers.
        os.environ.setdefault(JOURNAL, os.devnull)
    return worker_main(
        get_worker_metadata,
        CleanRLWorkerConfig,
        train,
        arguments,
        check=check,
        shortcuts=SHORTCUTS,
    )


if __name__ == "__main__":
    sys.exit(main())
