from __future__ import annotations

import os
import random
from typing import Any

import numpy as np
import pytest

from mosaic.fastlane import drawing
from mosaic.injection import rendering
from mosaic.injection.rendering import Renderer, reason_without_view
from tests.unit.injection.environments import Corridor


def test_the_mode_is_array_only_while_it_renders() -> None:
    env = Corridor()
    assert Renderer(env)() == [[[0]]]
    assert env.modes_seen == ["rgb_array"]
    assert env.render_mode is None


def test_the_mode_comes_back_when_rendering_fails() -> None:
    class Broken(Corridor):
        def render(self) -> Any:
            raise RuntimeError("no GPU")

    env = Broken()
    with pytest.raises(RuntimeError, match="no GPU"):
        Renderer(env)()
    assert env.render_mode is None


def test_an_environment_that_draws_random_numbers_while_it_renders_trains_as_if_it_did_not() -> (
    None
):
    class Noisy(Corridor):
        def render(self) -> Any:
            return random.random() + np.random.random() + self._np_random.random()

    env = Noisy()
    env._np_random = np.random.default_rng(3)
    np.random.seed(1)
    random.seed(2)

    def draws() -> list[float]:
        return [random.random(), np.random.random(), env._np_random.random()]

    expected = draws()
    env._np_random = np.random.default_rng(3)
    np.random.seed(1)
    random.seed(2)
    Renderer(env)()
    assert draws() == expected


def test_a_generator_made_while_it_renders_is_not_kept() -> None:
    class Late(Corridor):
        def render(self) -> Any:
            self._np_random = np.random.default_rng()
            return 0

    env = Late()
    Renderer(env)()
    assert env._np_random is None


def test_variables_are_set_only_meanwhile_and_never_over_those_of_the_script(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Spy(Corridor):
        def render(self) -> Any:
            names = ("SDL_VIDEODRIVER", "SDL_AUDIODRIVER", "SDL_NO_SIGNAL_HANDLERS")
            return [os.environ.get(name) for name in names]

    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SDL_VIDEODRIVER", "SDL_NO_SIGNAL_HANDLERS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SDL_AUDIODRIVER", "pulse")
    before, spy = dict(os.environ), Spy()
    assert Renderer(spy)() == ["dummy", "pulse", "1"]
    assert dict(os.environ) == before
    monkeypatch.setenv("DISPLAY", ":0")
    assert Renderer(spy)() == [None, "pulse", "1"]


@pytest.mark.parametrize(
    ("loadable", "expected"),
    [(("libEGL.so.1", "libOSMesa.so.8"), "egl"), (("libOSMesa.so",), "osmesa")],
)
def test_mujoco_draws_with_egl_then_with_osmesa(
    monkeypatch: pytest.MonkeyPatch, loadable: tuple[str, ...], expected: str
) -> None:
    class Robot(Corridor):
        mujoco_renderer = object()

        def render(self) -> Any:
            return os.environ.get("MUJOCO_GL")

    monkeypatch.delenv("DISPLAY", raising=False)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    monkeypatch.setattr(drawing, "_can_load", lambda library: library in loadable)
    robot = Robot()
    assert Renderer(robot)() == expected
    assert "MUJOCO_GL" not in os.environ
    monkeypatch.setattr(rendering, "gl_backend", lambda: None)
    with pytest.raises(RuntimeError, match="neither libEGL nor libOSMesa"):
        Renderer(robot)()
    monkeypatch.setenv("DISPLAY", ":0")
    assert Renderer(robot)() is None, "with a display it is left to MuJoCo"


def test_why_an_environment_is_not_shown() -> None:
    env = Corridor()
    assert reason_without_view(env) is None
    env.render_mode = "human"
    assert "human" in (reason_without_view(env) or "")
    env.render_mode = None
    env.metadata = {"render_modes": ["ansi"]}
    assert reason_without_view(env) == "it cannot be rendered as an array"
    env.metadata = {"render.modes": ["rgb_array"]}  # before Gym 0.26
    assert reason_without_view(env) is None


def test_an_environment_is_not_kept_alive() -> None:
    renderer = Renderer(Corridor())
    with pytest.raises(ValueError, match="gone"):
        renderer()
