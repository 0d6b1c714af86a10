"""The CleanRL worker while somebody watches: the same weights, frames of every process, pauses."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts import worker_environment as variables
from mosaic.fastlane.drawing import gl_backend
from mosaic.fastlane.layout import (
    DEFAULT_MAX_DIM,
    DEFAULT_SLOTS,
    PAUSED,
    BrokenSegmentError,
    Geometry,
)
from mosaic.fastlane.segment import make_segment, open_segment, segment_path
from mosaic.fastlane.viewer import LIVE, PAUSED_NOW, SlotState, View, Viewer, read_state
from mosaic.testing.worker_process import WorkerProcess, poll
from tests.waiting import PATIENCE_S

pytest.importorskip("torch")

HAS_OPENGL = gl_backend() is not None
PPO = {"num_envs": 2, "num_steps": 32, "num_minibatches": 2, "update_epochs": 1, "threads": 1}
MUJOCO = {"num_steps": 256, "num_minibatches": 4, "update_epochs": 1, "threads": 1}
REPLAY = {"learning_starts": 500, "buffer_size": 2000, "batch_size": 32, "threads": 1}
FOREVER = 10**9


@dataclass(frozen=True)
class Training:
    algo: str
    env_id: str
    total_timesteps: int
    params: dict[str, Any]
    extras: dict[str, Any] = field(default_factory=dict)

    def config(self, **changes: Any) -> dict[str, Any]:
        return {
            "algo": self.algo,
            "env_id": self.env_id,
            "total_timesteps": changes.get("total_timesteps", self.total_timesteps),
            "extras": {"algo_params": {**self.params, **changes.get("params", {})}, **self.extras},
        }


CART_POLE = Training("ppo", "CartPole-v1", 30_000, PPO)
IN_PROCESSES = Training(
    "ppo", "CartPole-v1", 12_000, {**PPO, "num_envs": 4, "vectorization": "processes"}
)
ONE_OF_FOUR = Training(
    "ppo",
    "CartPole-v1",
    FOREVER,
    {**PPO, "num_envs": 4, "vectorization": "processes"},
    {"fastlane_video_mode": "single", "fastlane_slot": 3},
)
TRAININGS = [
    CART_POLE,
    IN_PROCESSES,
    Training("dqn", "CartPole-v1", 10_000, REPLAY),
    Training("ppo", "LunarLander-v3", 4_000, PPO),
    pytest.param(
        Training("ppo_continuous_action", "Hopper-v4", 6_000, MUJOCO),
        marks=pytest.mark.skipif(not HAS_OPENGL, reason="neither EGL nor OSMesa is installed"),
    ),
]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return segment_path("01RUN", tmp_path)


@pytest.fixture
def viewer(path: Path) -> Iterator[Viewer]:
    viewer = Viewer(path, slot_count=8)
    yield viewer
    viewer.close()


def start(
    training: Training, folder: Path, path: Path, attempt: int = 1, **changes: Any
) -> WorkerProcess:
    told = {variables.FASTLANE_SEGMENT: str(path), variables.ATTEMPT: str(attempt)}
    told |= changes.pop("environment", {})
    return WorkerProcess("cleanrl_worker", folder, training.config(**changes), environment=told)


def watch_to_the_end(worker: WorkerProcess, viewer: Viewer) -> list[View]:
    """All pictures there were."""
    seen: list[View] = []

    def look() -> bool:
        view = viewer.poll()
        if view.picture is not None:
            seen.append(view)
        return worker.process.poll() is not None

    poll(look, PATIENCE_S, "the end of the training")
    assert worker.wait(PATIENCE_S) == 0, worker.stderr
    return seen


def watch_until(viewer: Viewer, status: str, is_moving: bool = False) -> View:
    def look() -> View | None:
        view = viewer.poll()
        fits = view.status == status and (view.picture is not None or not is_moving)
        return view if fits else None

    view = poll(look, PATIENCE_S, f"the status {status}")
    assert view is not None
    return view


def slots(path: Path) -> list[SlotState]:
    """Those that have had a writer."""
    try:
        segment = open_segment(path)
    except (FileNotFoundError, BrokenSegmentError):  # not there yet, or without its header yet
        return []
    try:
        states = [read_state(segment, slot) for slot in range(segment.geometry.slots)]
    finally:
        segment.close()
    return [state for state in states if state is not None and state.updated_ns]


def weights(run_directory: Path) -> str:
    from cleanrl_worker.kit.checkpoints.model_file import load_payload, weight_hash

    (model,) = (
        path for path in run_directory.glob("runs/*/*.cleanrl_model") if "best" not in path.stem
    )
    return weight_hash(load_payload(model))


@pytest.mark.parametrize("training", TRAININGS, ids=lambda item: f"{item.algo}-{item.env_id}")
def test_watched_training_ends_with_the_same_weights(
    training: Training, tmp_path: Path, path: Path, viewer: Viewer
) -> None:
    unseen = segment_path("01UNSEEN", tmp_path)
    with start(training, tmp_path / "unwatched", unseen) as unwatched:
        assert unwatched.wait(PATIENCE_S) == 0, unwatched.stderr
    assert slots(unseen) and not any(state.frames for state in slots(unseen)), "nobody watched"
    # Somebody watches before it starts: on a fast machine it is over before a viewer has come.
    make_segment(path, Geometry.within(DEFAULT_SLOTS, DEFAULT_MAX_DIM)).close()
    with start(training, tmp_path / "watched", path) as watched:
        assert watch_to_the_end(watched, viewer), "nothing was shown"
    assert weights(watched.run_directory) == weights(unwatched.run_directory)
    assert watched.stderr == unwatched.stderr, "graphics have nothing to say"


def test_watched_training_resumes_exactly(tmp_path: Path, path: Path, viewer: Viewer) -> None:
    often: dict[str, Any] = {"params": {"checkpoint_interval": 640}}
    with start(CART_POLE, tmp_path / "whole", path, **often) as whole:
        assert whole.wait(PATIENCE_S) == 0, whole.stderr
    path.unlink()
    with start(CART_POLE, tmp_path / "first", path, **often) as first:
        watch_until(viewer, LIVE, is_moving=True)
        first.wait_for("checkpoint_saved", PATIENCE_S, count=2)
        first.process.send_signal(signal.SIGSTOP)  # so that it cannot end before it is killed
        first.process.kill()
        assert first.wait(PATIENCE_S) == -signal.SIGKILL
    again = {variables.RUN_DIR: str(first.run_directory), variables.JOURNAL: str(first.journal)}
    with start(CART_POLE, tmp_path / "again", path, 2, environment=again, **often) as second:
        watch_to_the_end(second, viewer)
    assert first.events("checkpoint_loaded")
    assert weights(first.run_directory) == weights(whole.run_directory)


def test_every_process_shows_its_own_environments(
    tmp_path: Path, path: Path, viewer: Viewer
) -> None:
    with start(IN_PROCESSES, tmp_path / "run", path, total_timesteps=FOREVER) as worker:

        def shown_by_all() -> list[SlotState]:
            viewer.poll()
            found = [state for state in slots(path) if state.frames and state.metrics.episodes]
            return found if len(found) == 4 else []

        shown = poll(shown_by_all, PATIENCE_S, "frames and episodes of four environments")
        worker.send({"command": "pause"})
        poll(
            lambda: [state.metrics.flags for state in slots(path)] == [PAUSED] * 4,
            PATIENCE_S,
            "four paused environments",
        )
        worker.send({"command": "resume"})
        watch_until(viewer, LIVE, is_moving=True)
        worker.send({"command": "stop"})
        assert worker.wait(PATIENCE_S) == 0, worker.stderr
    pids = [state.pid for state in shown]
    assert worker.process.pid not in pids
    assert pids == sorted(pids, key=pids.index), "in the order of the environments"
    assert all(state.metrics.steps > state.metrics.episodes for state in shown)


def test_one_environment_of_another_process_is_shown_alone(
    tmp_path: Path, path: Path, viewer: Viewer
) -> None:
    with start(ONE_OF_FOUR, tmp_path / "run", path) as worker:
        view = watch_until(viewer, LIVE, is_moving=True)
        assert len(slots(path)) == 1 and slots(path)[0].pid != worker.process.pid
        assert view.picture is not None and view.picture.width == 480
        worker.send({"command": "stop"})
        assert worker.wait(PATIENCE_S) == 0, worker.stderr


def test_paused_run_is_shown_as_paused(tmp_path: Path, path: Path, viewer: Viewer) -> None:
    with start(CART_POLE, tmp_path / "run", path, total_timesteps=FOREVER) as worker:
        watch_until(viewer, LIVE, is_moving=True)
        worker.send({"command": "pause"})
        (figures, *_) = watch_until(viewer, PAUSED_NOW).metrics
        assert figures is not None and figures.steps > 0
        worker.wait_for("run_paused", PATIENCE_S)
        worker.send({"command": "resume"})
        watch_until(viewer, LIVE, is_moving=True)
        worker.send({"command": "stop"})
        assert worker.wait(PATIENCE_S) == 0, worker.stderr


def test_live_view_that_is_off_leaves_no_memory(tmp_path: Path, path: Path) -> None:
    off = Training("ppo", "CartPole-v1", 128, PPO, {"fastlane_enabled": False})
    with start(off, tmp_path / "run", path) as worker:
        assert worker.wait(PATIENCE_S) == 0, worker.stderr
    assert not path.exists()
