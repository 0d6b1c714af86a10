"""Plain pictures for the live view leave no trace in the environment."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from mosaic.fastlane.drawing import plain_drawing


def model() -> Any:
    quality = SimpleNamespace(offsamples=4, shadowsize=4096)
    return SimpleNamespace(
        vis=SimpleNamespace(quality=quality), mat_reflectance=np.array([0.5, 0.0])
    )


def looks_of(drawn: Any) -> tuple[int, int, list[float]]:
    quality = drawn.vis.quality
    return quality.offsamples, quality.shadowsize, drawn.mat_reflectance.tolist()


class Viewer:
    def __init__(self) -> None:
        self.times_current = 0

    def make_context_current(self) -> None:
        self.times_current += 1


def gymnasium_environment(viewer: Viewer | None = None) -> Any:
    return SimpleNamespace(model=model(), mujoco_renderer=SimpleNamespace(viewer=viewer))


def deepmind_environment() -> Any:
    return SimpleNamespace(_env=SimpleNamespace(physics=SimpleNamespace(model=model())))


def test_gymnasiums_environments_are_drawn_without_what_is_dear() -> None:
    core = gymnasium_environment()
    with plain_drawing(core):
        assert looks_of(core.model) == (0, 0, [0.0, 0.0])
    assert looks_of(core.model) == (4, 4096, [0.5, 0.0])


def test_so_are_those_of_deepmind_control() -> None:
    core = deepmind_environment()
    drawn = core._env.physics.model
    with plain_drawing(core):
        assert looks_of(drawn) == (0, 0, [0.0, 0.0])
    assert looks_of(drawn) == (4, 4096, [0.5, 0.0])


def test_looks_come_back_when_drawing_fails() -> None:
    core = gymnasium_environment()
    with pytest.raises(RuntimeError, match="no driver"), plain_drawing(core):
        raise RuntimeError("no driver")
    assert looks_of(core.model) == (4, 4096, [0.5, 0.0])


def test_each_environment_draws_in_its_own_context() -> None:
    viewer = Viewer()
    with plain_drawing(gymnasium_environment(viewer)):
        pass
    assert viewer.times_current == 1


def test_the_camera_follows_where_there_is_one_that_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cameras = {"track": 3}
    mujoco = SimpleNamespace(
        mjtObj=SimpleNamespace(mjOBJ_CAMERA=7),
        mj_name2id=lambda model, kind, name: cameras.get(name, -1) if kind == 7 else -1,
    )
    monkeypatch.setitem(sys.modules, "mujoco", mujoco)
    core = gymnasium_environment()
    renderer = core.mujoco_renderer
    for before, cameras_there, during in (
        (-1, {"track": 3}, 3),
        (-1, {}, -1),
        (1, {"track": 3}, 1),
    ):
        renderer.camera_id = before
        cameras.clear()
        cameras.update(cameras_there)
        with plain_drawing(core):
            assert renderer.camera_id == during
        assert renderer.camera_id == before


def test_other_environments_are_left_alone() -> None:
    core = SimpleNamespace(render_mode=None)
    with plain_drawing(core):
        assert vars(core) == {"render_mode": None}
