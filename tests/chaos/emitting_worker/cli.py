"""`python -m emitting_worker.cli --config FILE`."""

from __future__ import annotations

import hashlib
import os
import sys
import time
from dataclasses import dataclass
from pathlib import Path

from mosaic.worker import Run, option, worker_main

from . import get_worker_metadata

BREATH_S = 0.02


@dataclass(frozen=True)
class EmittingConfig:
    steps: int = option(100, help="how many steps to report", minimum=0)
    per_second: float = option(0.0, help="0 is as fast as possible", minimum=0)
    padding: int = option(0, help="numbers in each observation", minimum=0)
    go_file: str = option("", help="begin when this file appears")
    raw_lines_file: str = option("", help="bytes to put into the journal as they are")
    leaked_variable: str = option("", help="tell the value of this variable everywhere, and crash")


def train(run: Run[EmittingConfig]) -> None:
    config = run.config
    while config.go_file and not Path(config.go_file).exists() and not run.should_stop():
        time.sleep(BREATH_S)
    if config.raw_lines_file:
        copy_raw_lines(Path(config.raw_lines_file))
    emit_steps(run)
    if config.leaked_variable:
        leak(run, os.environ[config.leaked_variable])


def emit_steps(run: Run[EmittingConfig]) -> None:
    config = run.config
    began = time.perf_counter()
    observation = [0.5] * config.padding
    for index in range(config.steps):
        if run.should_stop():
            return
        run.step(
            episode_index=0,
            step_index=index,
            action=index % 4,
            observation=observation,
            reward=1.0,
            terminated=False,
            truncated=False,
        )
        if index % 1000 == 999:
            print(f"{index + 1} steps", flush=True)
        if config.per_second and (ahead := index / config.per_second + began) > 0:
            nap = ahead - time.perf_counter()
            if nap > BREATH_S:
                time.sleep(nap)


def copy_raw_lines(source: Path) -> None:
    """What a worker that writes its journal by hand might put there."""
    fd = os.open(os.environ["MOSAIC_JOURNAL"], os.O_WRONLY | os.O_APPEND)
    try:
        view = memoryview(source.read_bytes())
        while view:
            view = view[os.write(fd, view) :]
    finally:
        os.close(fd)


def leak(run: Run[EmittingConfig], value: str) -> None:
    """Everything a careless worker does with a key, after noting that it received the right one."""
    assert run.output_directory is not None
    digest = hashlib.sha256(value.encode()).hexdigest()
    (run.output_directory / f"received-{run.attempt}").write_text(digest)
    print(f"logging in with {value}")
    print(f"logging in with {value}", file=sys.stderr)
    run.metric(f"login/{value}", 1.0, 1)
    run.step(
        episode_index=1,
        step_index=0,
        action=0,
        observation=value,
        reward=0.0,
        terminated=True,
        truncated=False,
        info={"key": value, "header": f"Bearer {value}"},
    )
    raise RuntimeError(f"the server refused the key {value!r}")


def main() -> int:
    return worker_main(get_worker_metadata, EmittingConfig, train)


if __name__ == "__main__":
    sys.exit(main())
