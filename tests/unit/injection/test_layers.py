from __future__ import annotations

import copy
import gc
import pickle
import types
from typing import Any

import numpy as np
import pytest

import mosaic.injection.watches as watches_module
from mosaic.injection.complaints import Complaints
from mosaic.injection.layers import Layers
from mosaic.injection.watches import SILENT_STEPS, Watches
from tests.unit.injection import environments


class FakeBridge:
    def __init__(self) -> None:
        self.episodes: list[tuple[float, int, int]] = []
        self.recorded: list[Any] = []
        self.steps: list[int] = []
        self.tick: Any = None

    def episode(self, total: float, length: int, env: int, flags: int, recorded: Any) -> None:
        self.episodes.append((total, length, env))
        self.recorded.append(recorded)

    def progress(self, steps: int) -> None:
        self.steps.append(steps)

    def environment(self, env_id: str) -> None:
        """Which environments there are is told elsewhere."""

    def each_tick(self, call: Any) -> None:
        self.tick = call


class FakeTap:
    def __init__(self, render: Any) -> None:
        self.is_due, self.render = False, render
        self.shown: list[Any] = []

    def show(self) -> None:
        self.is_due = False
        self.shown.append(self.render())


class FakeLane:
    def __init__(self) -> None:
        self.taps: list[FakeTap] = []
        self.released: list[FakeTap] = []

    def tap(self, render: Any, metrics: Any) -> FakeTap:
        self.taps.append(FakeTap(render))
        self.metrics = metrics
        return self.taps[-1]

    def look(self) -> None:
        """Nobody watches."""

    def release(self, tap: FakeTap) -> None:
        self.released.append(tap)


class World:
    """The classes of a library, fresh for each test, with our layers on them."""

    def __init__(self, *, is_recording: bool = False) -> None:
        self.bridge, self.lane = FakeBridge(), FakeLane()
        self.notes: dict[str, None] = {}  # each once, as a session has them
        self.watches = Watches(
            self.bridge,  # type: ignore[arg-type]
            self.lane,  # type: ignore[arg-type]
            self._note,
            is_recording=is_recording,
        )
        self.layers = Layers(self.watches, Complaints())
        library: Any = types.ModuleType("library")
        with open(environments.__file__) as file:
            exec(compile(file.read(), environments.__file__, "exec"), vars(library))
        self.Corridor, self.Wrapper, self.Env = library.Corridor, library.Wrapper, library.Env
        self.Limit: Any = type("Limit", (library.Wrapper,), _limit_methods())
        self.Order: Any = type("Order", (library.Wrapper,), _order_methods())
        self.layers.follow_reset(self.Env, is_innermost=True)
        for kind in (self.Limit, self.Order):
            self.layers.follow_reset(kind)
        for kind in (self.Env, self.Wrapper):
            self.layers.follow_close(kind)

    def _note(self, text: str) -> None:
        self.notes[text] = None


def _order_methods() -> dict[str, Any]:
    def reset(self: Any, *, seed: Any = None) -> Any:
        return self.env.reset(seed=seed)

    def step(self: Any, action: Any) -> Any:
        return self.env.step(action)

    return {"reset": reset, "step": step}


def _limit_methods(limit: int = 3) -> dict[str, Any]:
    def reset(self: Any, *, seed: Any = None) -> Any:
        self.elapsed = 0
        return self.env.reset(seed=seed)

    def step(self: Any, action: Any) -> Any:
        place, reward, terminated, truncated, info = self.env.step(action)
        self.elapsed += 1
        return place, reward, terminated, truncated or self.elapsed >= limit, info

    return {"reset": reset, "step": step}


def play(env: Any, steps: int) -> None:
    for _ in range(steps):
        _, _, terminated, truncated, _ = env.step(0)
        if terminated or truncated:
            env.reset()


@pytest.fixture(params=["counted", "recorded"])
def world(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> World:
    """All is counted alike, with a tape and without."""
    monkeypatch.setattr(watches_module, "creation_settings", lambda env: {"env_id": "Corridor-v0"})
    world = World(is_recording=request.param == "recorded")
    world.Env.np_random = np.random.default_rng(0)
    return world


def test_one_layer_counts_the_outermost_one_which_sees_the_limit(world: World) -> None:
    env = world.Limit(world.Order(world.Corridor(length=100)))
    env.reset()
    play(env, 7)
    assert world.bridge.episodes == [(1.5, 3, 0), (1.5, 3, 0)]
    assert not hasattr(world.Order.step, "__wrapped__"), "inner layers need no counting"
    assert not hasattr(world.Corridor.step, "__wrapped__")


def test_an_environment_without_wrappers_is_counted_too(world: World) -> None:
    env = world.Corridor(length=4)
    env.reset()
    play(env, 8)
    assert world.bridge.episodes == [(2.0, 4, 0), (2.0, 4, 0)]


def test_the_same_wrapper_twice_counts_once(world: World) -> None:
    env = world.Limit(world.Limit(world.Corridor(length=100)))
    env.reset()
    play(env, 6)
    assert world.bridge.episodes == [(1.5, 3, 0), (1.5, 3, 0)]


def test_a_wrapper_that_inherits_from_another_one_counts_once(world: World) -> None:
    def step(self: Any, action: Any) -> Any:
        return world.Limit.step(self, action)

    tight = type("Tight", (world.Limit,), {"step": step})
    plain, inherited = world.Limit(world.Corridor()), tight(world.Corridor())
    for env in (plain, inherited):  # in this order and then the other: both classes count
        env.reset()
        play(env, 3)
    play(plain, 3)
    assert world.bridge.episodes == [(1.5, 3, 0), (1.5, 3, 1), (1.5, 3, 0)]


def test_a_wrapper_put_around_later_takes_over(world: World) -> None:
    inner = world.Order(world.Corridor(length=100))
    inner.reset()
    play(inner, 2)
    env = world.Limit(inner)
    env.reset()
    play(env, 3)
    assert world.bridge.episodes == [(1.5, 3, 0)]


def test_an_abandoned_episode_is_none_and_stepping_on_after_the_end_is_not_a_second(
    world: World,
) -> None:
    env = world.Corridor(length=4)
    env.reset()
    env.step(0)
    env.reset()
    for _ in range(6):
        env.step(0)
    assert world.bridge.episodes == [(2.0, 4, 0)]


def test_rewards_of_numpy_are_summed_in_double_precision(world: World) -> None:
    env = world.Corridor(length=1000, reward=np.float32(0.1))
    env.reset()
    play(env, 2000)
    second, exact = world.bridge.episodes[1][0], 1000 * float(np.float32(0.1))
    assert type(second) is float
    assert second == pytest.approx(exact, rel=1e-12)


def test_copies_and_pickles_are_environments_of_their_own(world: World) -> None:
    env = world.Limit(world.Corridor(length=100))
    env.reset()
    play(env, 2)
    twin = copy.deepcopy(env)
    twin.step(0)  # a search looks ahead: nobody's episode
    assert world.bridge.episodes == []
    play(env, 1)
    assert world.bridge.episodes == [(1.5, 3, 0)]
    twin.reset()
    play(twin, 3)
    assert world.bridge.episodes[1:] == [(1.5, 3, 1)]
    watch = env._mosaic_watch
    assert pickle.loads(pickle.dumps(watch)) is None
    assert b"mosaic" not in pickle.dumps(watch)


def test_what_cannot_be_counted_goes_on_unwatched_and_is_said_once(world: World) -> None:
    env = world.Limit(world.Corridor(reward="a lot"))
    env.reset()
    for _ in range(3):
        assert env.step(0)[1] == "a lot"
    assert [note for note in world.notes if "not counted" in note] == [
        "steps and episodes of Limit are not counted: unsupported operand type(s) for +=:"
        " 'float' and 'str'"
    ]


def test_a_step_with_other_arguments_and_four_results_is_counted(world: World) -> None:
    class Old(world.Env):  # type: ignore[name-defined,misc]
        def reset(self) -> Any:
            super().reset()
            self.count = 0

        def step(self, move: Any, *, repeat: int = 1) -> Any:
            self.count += repeat
            return self.count, 1, self.count >= 4, {"TimeLimit.truncated": False}

    env = Old()
    env.reset()
    env.step(0, repeat=2)
    env.step(move=0)
    env.step(0)
    assert world.bridge.episodes == [(3.0, 3, 0)]


def test_errors_of_the_environment_are_the_scripts(world: World) -> None:
    class Broken(world.Env):  # type: ignore[name-defined,misc]
        def reset(self) -> Any:
            super().reset()
            raise KeyError("reset")

        def step(self, action: Any) -> Any:
            raise KeyError("step")

    env = Broken()
    for call in (env.reset, lambda: env.step(0), env.reset):
        with pytest.raises(KeyError):
            call()


def test_a_due_frame_is_shown_and_the_tap_released_with_the_environment(world: World) -> None:
    env = world.Limit(world.Corridor(length=100))
    env.reset()
    (tap,) = world.lane.taps
    tap.is_due = True
    play(env, 2)
    assert tap.shown == [[[[1]]]]
    assert world.lane.metrics().steps == 2
    assert world.lane.metrics().last_reward == 0.5
    env.close()
    assert world.lane.released == [tap]
    env.reset()  # it lives on
    assert len(world.lane.taps) == 2
    del env
    gc.collect()
    assert world.lane.released == world.lane.taps


def test_progress_and_the_alarm_when_no_episode_ends(world: World) -> None:
    env = world.Corridor(length=SILENT_STEPS * 2)
    env.reset()
    world.bridge.tick()
    env.step(0)
    env._mosaic_watch.steps += SILENT_STEPS - 2  # as if it had been stepped that often
    world.bridge.tick()
    assert (world.bridge.steps, list(world.notes)) == ([SILENT_STEPS - 1], [])
    env.step(0)
    for _ in range(2):
        world.bridge.tick()
    assert list(world.notes) == ["no episode of an environment has ended for 200,000 steps"]
    assert world.bridge.steps == [SILENT_STEPS - 1, SILENT_STEPS], "told when it changes"


def test_many_environments_with_long_episodes_are_no_alarm(world: World) -> None:
    envs = [world.Corridor(length=SILENT_STEPS) for _ in range(100)]
    for env in envs:
        env.reset()
        env.step(0)
        env._mosaic_watch.steps += 26_999
    world.bridge.tick()
    assert world.bridge.steps == [2_700_000]
    assert not world.notes


def test_a_vector_of_environments_is_not_one(world: World) -> None:
    class Vector(world.Env):  # type: ignore[name-defined,misc]
        num_envs = 4

        def step(self, action: Any) -> Any:
            return None, np.ones(4), np.zeros(4, bool), np.zeros(4, bool), {}

    env = Vector()
    env.reset()
    env.step(0)
    assert not hasattr(env, "_mosaic_watch")
