"""Vectors that are stepped as one are counted from what their step returns."""

from __future__ import annotations

from typing import Any

import numpy as np

from mosaic.injection.vector_watch import VectorLayers, VectorWatch
from mosaic.injection.watches import Watches

Ended = list[tuple[float, int, int]]


def watch(size: int, ended: Ended, *, resets_later: bool) -> VectorWatch:
    def report(total: float, length: int, number: int, flags: int, recorded: object) -> None:
        ended.append((total, length, number))

    return VectorWatch(size, 10, report, resets_later=resets_later)


def result(rewards: list[float], over: list[int], **infos: Any) -> tuple[Any, ...]:
    """`over`: 1 for terminated, 2 for truncated."""
    ends = np.array(over)
    return None, np.array(rewards, dtype=np.float32), ends == 1, ends == 2, infos


def test_a_step_that_only_resets_is_none() -> None:
    ended: Ended = []
    vector = watch(2, ended, resets_later=True)
    for rewards, over in (([1, 1], [0, 1]), ([1, 0], [2, 0]), ([0, 1], [0, 0]), ([5, 1], [1, 1])):
        vector.count(result(list(rewards), over))
    assert ended == [(1.0, 1, 11), (2.0, 2, 10), (5.0, 1, 10), (2.0, 2, 11)]
    assert (vector.training_steps, vector.episodes, vector.length) == (6, 4, 2)


def test_resets_within_the_step_lose_none() -> None:
    ended: Ended = []
    vector = watch(2, ended, resets_later=False)
    for over in ([0, 1], [1, 0], [0, 1]):
        vector.count(result([1, 1], over))
    assert ended == [(1.0, 1, 11), (2.0, 2, 10), (2.0, 2, 11)]
    assert vector.training_steps == 6


def test_a_part_of_the_environments_says_which() -> None:
    ended: Ended = []
    vector = watch(4, ended, resets_later=True)
    vector.count(result([1, 2], [0, 0], env_id=[3, 0]))
    vector.count(result([1, 2], [1, 1], env_id=[3, 1]))
    assert ended == [(2.0, 2, 13), (2.0, 1, 11)]


def test_four_results_are_those_of_gym() -> None:
    ended: Ended = []
    vector = watch(2, ended, resets_later=True)
    vector.count((None, np.ones(2), np.array([False, True]), {}))
    assert ended == [(1.0, 1, 11)]


def test_a_reset_begins_again() -> None:
    ended: Ended = []
    vector = watch(1, ended, resets_later=True)
    vector.count(result([1], [0]))
    vector.start_episodes(False)
    vector.count(result([1], [1]))
    assert ended == [(1.0, 1, 10)]
    assert vector.training_steps == 2


class Bridge:
    def __init__(self) -> None:
        self.ended: Ended = []
        self.steps: list[int] = []

    def episode(self, total: float, length: int, env: int, flags: int, recorded: None) -> None:
        self.ended.append((total, length, env))

    def progress(self, steps: int) -> None:
        self.steps.append(steps)

    def environment(self, env_id: str) -> None:
        """Which environments there are is told elsewhere."""

    def each_tick(self, call: Any) -> None:
        self.tick = call


def test_a_class_counts_once_and_what_it_returns_is_its_own() -> None:
    class Base:
        def step(self, actions: Any) -> Any:
            return actions

    class Derived(Base):
        def step(self, actions: Any) -> Any:
            return super().step(actions)

    bridge, notes = Bridge(), list[str]()
    watches = Watches(bridge, None, notes.append)  # type: ignore[arg-type]
    layers = VectorLayers(watches)
    base, derived = Base(), Derived()
    for vector in (base, derived, base):
        layers.begin(vector, 2, resets_later=True)
    step = result([1, 1], [0, 1])
    assert base.step(step) is step
    assert derived.step(step) is step
    assert bridge.ended == [(1.0, 1, 1), (1.0, 1, 3)], "each has numbers of its own"
    bridge.tick()
    del derived
    bridge.tick()
    assert bridge.steps == [4], "those of the gone still count"
    assert len(notes) == 3 - 1
    assert base.step("what is this") == "what is this"
    assert base.step(step) is step
    assert [note for note in notes if "steps and episodes of Base are not counted" in note]
