"""Reports every step through the journal."""

from __future__ import annotations

import os
import sys
import time
from dataclasses import dataclass

from counting_worker import get_worker_metadata  # type: ignore[import-not-found]
from mosaic.worker import Run, option, worker_main


@dataclass(frozen=True)
class CountingConfig:
    proof: str = option(help="file that gets a line at each start")
    steps: int = option(help="how many steps to report")
    pause_s: float = option(help="between steps")
    exit_code: int = option(help="what to end with")


def train(run: Run[CountingConfig]) -> None:
    config = run.config
    fd = os.open(config.proof, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.write(fd, b"started\n")
    os.close(fd)
    for index in range(config.steps):
        run.step(
            episode_index=0,
            step_index=index,
            action=0,
            observation=[0.0],
            reward=1.0,
            terminated=False,
            truncated=False,
        )
        time.sleep(config.pause_s)
    sys.exit(config.exit_code)


if __name__ == "__main__":
    sys.exit(worker_main(get_worker_metadata, CountingConfig, train))
