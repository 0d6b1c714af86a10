"""Pictures of batches: what Gymnasium shows for the same state, without changing how they go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

from cleanrl_worker.environments import rendering
from cleanrl_worker.environments.batch import EnvBatch
from cleanrl_worker.environments.families import CLASSIC_CONTROL, DM_CONTROL, MUJOCO
from cleanrl_worker.environments.family_imports import headless_variables
from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.environments.rendering import rendered
from cleanrl_worker.environments.single import make_single
from cleanrl_worker.kit.normalizers import NormalizingBatch
from mosaic.errors import WorkerError
from mosaic.fastlane import drawing
from mosaic.fastlane.drawing import can_draw, gl_backend
from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.settings import Settings
from mosaic.fastlane.viewer import Viewer
from tests.unit.cleanrl_worker.environments.batch_comparison import (
    assert_same_step,
    random_actions,
)
from tests.waiting import wait_until

SEED = 5
HAS_OPENGL = gl_backend() is not None
NATIVE = [
    "Acrobot-v1",
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Pendulum-v1",
]
LOOP = [
    "BipedalWalker-v3",
    "CarRacing-v3",
    "FrozenLake-v1",
    "LunarLander-v3",
    "MiniGrid-Empty-8x8-v0",
    "PongNoFrameskip-v4",
    pytest.param("Hopper-v5", marks=pytest.mark.skipif(not HAS_OPENGL, reason="no OpenGL")),
]


@contextmanager
def batch_of(env_id: str, count: int, **options: Any) -> Iterator[EnvBatch]:
    envs = make_env_batch(env_id, count, **options)
    try:
        yield envs
    finally:
        envs.close()


@pytest.mark.parametrize("env_id", NATIVE)
def test_native_pictures_are_gymnasiums(env_id: str) -> None:
    with batch_of(env_id, 2) as envs:
        reference: Any = gymnasium.make(env_id, render_mode="rgb_array")
        envs.reset(SEED - 1)
        reference.reset(seed=SEED)
        np.testing.assert_array_equal(envs.render(1), reference.render())
        draw, ends = random_actions(envs), 0
        for count in range(230):
            step = envs.step(actions := draw())
            *_, terminated, truncated, _ = reference.step(actions[1])
            if terminated or truncated:
                reference.reset()
                ends += 1
            if count % 5 == 0 or 1 in step.finals:
                np.testing.assert_array_equal(envs.render(1), reference.render(), str(count))
        assert ends or env_id in ("Acrobot-v1", "MountainCarContinuous-v0")
        assert (envs.render(0) != envs.render(1)).any()
        reference.close()


@pytest.mark.parametrize("env_id", [*NATIVE, *LOOP])
def test_rendering_changes_nothing(env_id: str) -> None:
    with batch_of(env_id, 2) as seen, batch_of(env_id, 2) as unseen:
        np.testing.assert_array_equal(seen.reset(SEED), unseen.reset(SEED))
        draw = random_actions(unseen)
        for count in range(60):
            step = unseen.step(actions := draw())
            assert_same_step(seen.step(actions), step)
            if count % 4 == 0:
                picture = seen.render(count % 2)
                assert picture.ndim == 3 and picture.dtype == np.uint8 and picture.any()


def test_render_mode_is_as_before() -> None:
    env = make_single("LunarLander-v3")
    env.reset(seed=SEED)
    rendered(env)
    assert env.unwrapped.render_mode is None
    env.close()


def test_atari_shows_the_screen_in_colour() -> None:
    env: Any = make_single("PongNoFrameskip-v4")
    env.reset(seed=SEED)
    np.testing.assert_array_equal(rendered(env), env.unwrapped.ale.getScreenRGB())
    env.close()


def test_normalised_batches_are_drawn_as_they_are() -> None:
    with batch_of("CartPole-v1", 1) as envs:
        normalized = NormalizingBatch(envs, observations=True, rewards=True, gamma=0.9)
        normalized.reset(SEED)
        np.testing.assert_array_equal(normalized.render(0), envs.render(0))


def test_environment_without_pictures_says_so() -> None:
    class Blind(gymnasium.Env[Any, Any]):
        pass

    with pytest.raises(WorkerError, match="draws no pictures"):
        rendered(Blind())


def test_drivers_are_chosen_by_what_can_be_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    libraries = {"libEGL.so.1", "libOSMesa.so.8"}
    monkeypatch.setattr(drawing, "_can_load", lambda name: name in libraries)
    assert headless_variables(CLASSIC_CONTROL).get("MUJOCO_GL") is None
    assert headless_variables(MUJOCO)["MUJOCO_GL"] == "egl"
    libraries.remove("libEGL.so.1")
    assert headless_variables(DM_CONTROL)["MUJOCO_GL"] == "osmesa"
    assert can_draw("osmesa") and not can_draw("egl")
    libraries.clear()
    assert not can_draw(headless_variables(MUJOCO)["MUJOCO_GL"])
    assert can_draw("glfw"), "the user knows better"


def test_physics_go_on_where_nothing_can_be_drawn(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(rendering, "can_draw", lambda backend: False)
    path = segment_path("01RUN", tmp_path)
    notes: list[str] = []
    viewer = Viewer(path, slot_count=2)
    with batch_of("Hopper-v5", 2, vectorization="loop") as envs:
        envs.open_view(Settings(str(path)), notes.append)
        envs.reset(SEED)
        draw = random_actions(envs)

        def step() -> bool:
            viewer.poll()
            envs.step(draw())
            return bool(notes)

        wait_until(step, what="a note")
        for _ in range(20):
            step()
    viewer.close()
    assert len(notes) == 1 and "neither libEGL nor libOSMesa" in notes[0]
