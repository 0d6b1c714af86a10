"""The worker's program: `python -m spade_bdi_rl_worker.cli --config FILE`."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from mosaic.worker import Run, worker_main
from spade_bdi_rl_worker import get_worker_metadata
from spade_bdi_rl_worker.config import SHORTCUTS, BdiWorkerConfig


def check(config: BdiWorkerConfig) -> dict[str, Any]:
    # Imported here: `--describe` and `--help` need neither numpy nor SPADE.
    from spade_bdi_rl_worker.runtime import check

    return check(config)


def train(run: Run[BdiWorkerConfig]) -> None:
    from spade_bdi_rl_worker.runtime import execute

    execute(run)


def main(argv: Sequence[str] | None = None) -> int:
    return worker_main(
        get_worker_metadata, BdiWorkerConfig, train, argv, check=check, shortcuts=SHORTCUTS
    )


if __name__ == "__main__":
    sys.exit(main())
