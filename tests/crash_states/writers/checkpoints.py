"""Checkpoints with a replay buffer: the newest acknowledged one loads whole, or a newer one."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import torch

from cleanrl_worker.kit.checkpoints import state
from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from cleanrl_worker.kit.training import _new_run_folder
from tests.checkpoint_samples import assert_holds, empty_buffer, extend_buffer, save_step
from tests.crash_states.proof import Announce

STEPS = (3, 6, 9, 12)
# The second is the best for long enough to be given up by all but its fame.
METRICS = (1.0, 5.0, 2.0, 7.0)


def prepare(root: Path) -> None:
    (root / "run").mkdir()


def write(root: Path, announce: Announce) -> None:
    torch.set_num_threads(1)
    state.CHUNK_ROWS = 4
    buffer = empty_buffer()
    named = SimpleNamespace(env_id="CartPole-v1", exp_name="dqn", seed=1)
    folder = _new_run_folder(cast("Any", named), root / "run")  # as every training does
    store = CheckpointStore(folder, "dqn", keep=1)
    done = 0
    for step, metric in zip(STEPS, METRICS, strict=True):
        announce(f"saving {step}")
        extend_buffer(buffer, done, step)
        save_step(store, step, buffer, metric=metric)
        announce(f"saved {step}")
        done = step


def recover(root: Path) -> int:
    """The step of the checkpoint a training would go on from; 0 when there is none."""
    path = find_checkpoint(root / "run")
    if path is None:
        return 0
    checkpoint = load_checkpoint(path)
    assert_holds(checkpoint, checkpoint.step, with_buffer=True)
    for best in path.parent.glob("*-best.cleanrl_model"):
        step = load_checkpoint(best, with_replay=False).step
        assert step in STEPS, step
    return checkpoint.step


def complaint(recovered: int, said: Sequence[str]) -> str:
    begun = int(said[-1].split()[1]) if said else 0
    saved = max((int(line.split()[1]) for line in said if line.startswith("saved")), default=0)
    if saved <= recovered <= begun:
        return ""
    return f"lost: step {saved} was saved, step {recovered} is what there is"
