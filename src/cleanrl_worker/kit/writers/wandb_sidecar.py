"""The process that talks to W&B for a training, so that W&B can hang, crash or wait by itself.

    python -m cleanrl_worker.kit.writers.wandb_sidecar PARENT_PID GRACE_SECONDS

Reads JSON lines on standard input: first the run's settings, then `{"step", "values"}`, at the end
`{"finish"}`. Ends with its parent at the latest.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from mosaic.files import atomic_write_json

STEP_METRIC = "global_step"
PARENT_CHECK_S = 1.0
NICENESS = 10


def main() -> None:
    parent, grace_s = int(sys.argv[1]), float(sys.argv[2])
    watchdog = threading.Thread(target=end_with_parent, args=(parent, grace_s), daemon=True)
    watchdog.start()
    os.nice(NICENESS)  # the cores belong to the training
    messages = read_messages(take_stdin())
    settings = next(messages)
    run = start_run(settings, parent)
    for message in messages:
        if "finish" in message:
            break
        run.log({STEP_METRIC: message["step"], **message["values"]})
    run.finish()


def end_with_parent(parent: int, grace_s: float) -> None:
    """What has arrived may still be stored; but nothing survives the training for long."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    time.sleep(grace_s)
    os.kill(os.getpid(), signal.SIGKILL)  # W&B's own service process ends with this one


def take_stdin() -> int:
    """A private copy, so that no process W&B starts holds the training's pipe open."""
    fd = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    os.dup2(nothing, 0)
    os.close(nothing)
    return fd


def read_messages(fd: int) -> Iterator[dict[str, Any]]:
    with open(fd, "rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):  # the last one may be cut when the training was killed
                yield json.loads(line)


def start_run(settings: Mapping[str, Any], parent: int) -> Any:
    import wandb

    run = wandb.init(
        project=settings["project"],
        entity=settings["entity"],
        name=settings["name"],
        id=settings["run_id"],
        config=settings["config"],
        resume="allow",
        settings=wandb.Settings(
            console="off", disable_git=True, save_code=False, x_stats_pid=parent
        ),
    )
    # Not W&B's own step: that one refuses to go back, and several episodes may end at one step.
    run.define_metric(STEP_METRIC)
    run.define_metric("*", step_metric=STEP_METRIC)
    atomic_write_json(Path(settings["identity_file"]), {"run_id": run.id, "url": run.url or ""})
    return run


if __name__ == "__main__":
    main()
