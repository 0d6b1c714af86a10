"""Every class below one of a library is looked at, and stays what it is."""

from __future__ import annotations

import copy
import inspect
import pickle
import types
from typing import Any, Generic, TypeVar

import numpy as np
import pytest

from mosaic.injection.complaints import Complaints
from mosaic.injection.layers import Subclasses
from tests.unit.injection.test_layers import World, play, world

__all__ = ["world"]
T = TypeVar("T")


def test_classes_from_before_and_after_are_seen_with_their_arguments() -> None:
    class Base(Generic[T]):
        pass

    class Before(Base[int]):
        pass

    class Below(Before):
        pass

    seen: list[str] = []
    Subclasses(Complaints()).follow(Base, lambda kind: seen.append(kind.__name__))
    assert sorted(seen) == ["Before", "Below"]

    class Named(Base[T]):
        def __init_subclass__(cls, /, name: str, **kwargs: Any) -> None:
            super().__init_subclass__(**kwargs)
            cls.name = name  # type: ignore[attr-defined]

    class After(Named[int], name="after"):
        pass

    assert seen[2:] == ["Named", "After"]
    assert After.name == "after"  # type: ignore[attr-defined]


def test_a_look_that_fails_leaves_the_class(capsys: pytest.CaptureFixture[str]) -> None:
    class Base:
        pass

    def fail(kind: type) -> None:
        raise ValueError("not today")

    Subclasses(Complaints()).follow(Base, fail)

    class Below(Base):
        pass

    assert Below()
    assert "following Below failed (ValueError: not today)" in capsys.readouterr().err


@pytest.fixture
def own(world: World) -> Any:
    """A class whose `reset` calls nothing above it, in a library whose classes are followed."""
    subclasses = Subclasses(Complaints())

    def look(kind: type) -> None:
        if not issubclass(kind, world.Wrapper):
            world.layers.follow_reset(kind, is_innermost=True)

    subclasses.follow(world.Env, look)

    class Own(world.Env):  # type: ignore[name-defined,misc]
        length = 2

        def reset(self, *, seed: int | None = None) -> Any:
            """As it was written."""
            self.place = 0
            return 0, {}

        def step(self, action: Any) -> Any:
            self.place += 1
            return self.place, 1.0, self.place >= self.length, False, {}

    return Own


def test_a_reset_that_calls_nothing_above_it_is_seen(world: World, own: Any) -> None:
    env = own()
    env.reset()
    play(env, 4)
    assert world.bridge.episodes == [(2.0, 2, 0)] * 2


def test_a_class_below_that_calls_the_one_above_counts_once(world: World, own: Any) -> None:
    class Below(own):  # type: ignore[misc]
        def reset(self, *, seed: int | None = None) -> Any:
            return super().reset(seed=seed)

        def step(self, action: Any) -> Any:
            return super().step(action)

    env = world.Limit(Below())
    env.reset()
    play(env, 2)
    assert world.bridge.episodes == [(2.0, 2, 0)]


def test_it_looks_as_it_was_written(own: Any) -> None:
    assert own.reset.__doc__ == "As it was written."
    assert "seed: int | None = None" in inspect.getsource(own.reset)
    assert list(inspect.signature(own.reset).parameters) == ["self", "seed"]
    assert inspect.isfunction(own.reset)


def test_copies_are_environments_of_their_own(world: World, own: Any) -> None:
    env = own()
    env.reset()
    twin = copy.deepcopy(env)
    twin.step(0)
    assert world.bridge.episodes == []
    twin.reset()
    play(twin, 2)
    assert world.bridge.episodes == [(2.0, 2, 1)]


def test_what_we_put_into_a_class_does_nothing_where_it_is_sent_by_value(
    world: World, own: Any
) -> None:
    """As some libraries pickle functions: by their code, with what they refer to."""
    ours = own.reset
    cells = tuple(
        types.CellType(None if cell.cell_contents is world.layers else cell.cell_contents)
        for cell in ours.__closure__
    )
    assert pickle.loads(pickle.dumps(world.layers)) is None
    sent = types.FunctionType(ours.__code__, {}, "reset", ours.__defaults__, cells)
    sent.__kwdefaults__ = ours.__kwdefaults__
    env = own()
    assert sent(env) == (0, {})
    assert env.place == 0


def test_an_environment_that_uses_another_one_counts_and_the_other_one_does_not(
    world: World, own: Any
) -> None:
    class Game(world.Env):  # type: ignore[name-defined,misc]
        def __init__(self, inner: Any) -> None:
            self.inner = inner

        def reset(self, *, seed: int | None = None) -> Any:
            return self.inner.reset(seed=seed)

        def step(self, action: Any) -> Any:
            place, reward, *rest = self.inner.step(action)
            return place, reward * 10, *rest

    for inner in (own(), world.Limit(own())):
        game = Game(inner)
        game.reset()
        play(game, 4)
    assert [episode[:2] for episode in world.bridge.episodes] == [(20.0, 2)] * 4
    world.bridge.tick()
    assert world.bridge.steps == [8]


def test_compiled_and_partial_methods_are_called_as_ever(world: World, own: Any) -> None:
    class Method:
        """As compilers make them: no function of Python."""

        def __init__(self, call: Any) -> None:
            self._call = call

        def __get__(self, env: Any, kind: Any = None) -> Any:
            return types.MethodType(self._call, env)

    def begin(env: Any, seed: int | None = None) -> Any:
        env.place = 0
        return None, {}

    class Compiled(own):  # type: ignore[misc]
        reset = Method(begin)
        step = Method(lambda self, action: own.step(self, action))

    env = Compiled()
    env.reset(seed=1)
    play(env, 2)
    assert world.bridge.episodes == [(2.0, 2, 0)]


def test_one_of_no_library_at_all_is_seen(world: World) -> None:
    class Bare:
        def reset(self, seed: Any = None, options: Any = None) -> Any:
            self.place = 0
            return np.zeros(1), {}

        def step(self, action: Any) -> Any:
            self.place += 1
            return np.zeros(1), 1.0, self.place >= 3, False, {}

    env = Bare()
    world.layers.follow_class_of(env)
    env.reset()
    play(env, 3)
    assert world.bridge.episodes == [(3.0, 3, 0)]


def test_one_that_has_no_room_for_a_watch_is_said(world: World) -> None:
    class Closed:
        __slots__ = ("place",)

        def reset(self) -> Any:
            self.place = 0

        def step(self, action: Any) -> Any:
            return 0, 1.0, True, False, {}

    env = Closed()
    world.layers.follow_class_of(env)
    env.reset()
    env.step(0)
    assert [note for note in world.notes if note.startswith("steps and episodes of Closed are not")]
    assert world.bridge.episodes == []
