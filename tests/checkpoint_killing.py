"""Saves checkpoints in a process that is killed again and again; run by an integration test.

python -m tests.checkpoint_killing FOLDER KILLS
"""

from __future__ import annotations

import os
import random
import signal
import struct
import sys
import time
from pathlib import Path
from typing import NoReturn

import torch

from cleanrl_worker.kit.checkpoints import state
from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from tests.checkpoint_samples import assert_holds, empty_buffer, extend_buffer, save_step


def save_for_ever(folder: Path, report: int) -> NoReturn:
    """Goes on from the last checkpoint; tells each step once its checkpoint is said to be saved."""
    buffer, step = empty_buffer(), 0
    path = find_checkpoint(folder)
    if path is not None:
        checkpoint = load_checkpoint(path)
        step = checkpoint.step
        buffer.load_state_dict(checkpoint.part("buffer"))
    store = CheckpointStore(folder / "runs" / "run", "dqn", keep=2)
    while True:
        extend_buffer(buffer, step, step + 3)
        step += 3
        save_step(store, step, buffer, metric=float(step % 7))
        os.write(report, struct.pack("<q", step))


def kill_somewhere(folder: Path, chance: random.Random) -> int:
    """Start, kill after a few saves and a bit; returns the last step that was said to be saved."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            save_for_ever(folder, writer)
        finally:
            os._exit(1)
    os.close(writer)
    step, started = 0, time.perf_counter()
    for _ in range(chance.randint(1, 3)):
        step = struct.unpack("<q", os.read(reader, 8))[0]
    one_save = time.perf_counter() - started
    until = time.perf_counter() + chance.random() * one_save
    while time.perf_counter() < until:
        pass
    os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    assert os.WTERMSIG(status) == signal.SIGKILL
    while told := os.read(reader, 8):
        step = struct.unpack("<q", told)[0]
    os.close(reader)
    return step


def main() -> None:
    folder, kills = Path(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(1)  # threads do not survive a fork
    state.CHUNK_ROWS = 4
    chance = random.Random(5)
    for _ in range(kills):
        told = kill_somewhere(folder, chance)
        path = find_checkpoint(folder)
        assert path is not None
        checkpoint = load_checkpoint(path)
        assert checkpoint.step in (told, told + 3), (checkpoint.step, told)
        assert_holds(checkpoint, checkpoint.step, with_buffer=True)
        assert load_checkpoint(path.with_name("dqn-best.cleanrl_model")).metric is not None
        print(checkpoint.step)


if __name__ == "__main__":
    main()
