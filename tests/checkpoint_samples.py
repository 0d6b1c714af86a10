"""A tiny training whose every number tells its step, for tests of checkpoints."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from cleanrl_worker.kit.checkpoints.loading import Checkpoint
from cleanrl_worker.kit.checkpoints.store import CheckpointStore, SavedCheckpoint
from cleanrl_worker.kit.replay_buffers import ReplayBuffer

BUFFER_ROWS = 10


def filled_buffer(step: int) -> ReplayBuffer:
    """A buffer of 10 rows after `step` transitions, each numbered."""
    buffer = empty_buffer()
    extend_buffer(buffer, 0, step)
    return buffer


def extend_buffer(buffer: ReplayBuffer, start: int, end: int) -> None:
    for number in range(start, end):
        row = np.full((1, 2), number, np.float32)
        buffer.add(row, row + 0.5, np.array([number]), row[0, :1], np.zeros(1))


def empty_buffer() -> ReplayBuffer:
    return ReplayBuffer(BUFFER_ROWS, (2,), np.float32, (), np.int64)


def weights(step: int) -> dict[str, torch.Tensor]:
    return {"layer.weight": torch.full((3, 2), float(step)), "layer.bias": torch.zeros(3)}


def save_step(
    store: CheckpointStore,
    step: int,
    buffer: ReplayBuffer | None = None,
    **options: Any,
) -> SavedCheckpoint:
    states: dict[str, Any] = {
        "optimizer": {"state": {0: {"step": torch.tensor(step)}}, "lr": 0.1},
        "session": {"global_step": step, "rng": 2**100 + step},
    }
    if buffer is not None:
        states["buffer"] = buffer.state_dict()
    return store.save(step, weights(step), states, **options)


def assert_holds(checkpoint: Checkpoint, step: int, with_buffer: bool = False) -> None:
    assert checkpoint.step == step
    assert torch.equal(checkpoint.weights["layer.weight"], weights(step)["layer.weight"])
    assert checkpoint.part("optimizer")["state"][0]["step"] == step
    assert checkpoint.part("session") == {"global_step": step, "rng": 2**100 + step}
    if with_buffer:
        buffer = empty_buffer()
        buffer.load_state_dict(checkpoint.part("buffer"))
        held = set(buffer.sample(300, np.random.default_rng(0)).actions.tolist())
        assert held == set(range(max(0, step - BUFFER_ROWS), step))
