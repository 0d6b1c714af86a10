"""LiveView: shows the environments of a run to whoever watches. While nobody does, it is free.

Whoever steps environments looks at `is_due` after each step of all of them, and counts the
episodes that ended. Nothing is rendered before a viewer wants a frame.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from numpy.typing import NDArray

from mosaic.fastlane.lane import Lane, Tap
from mosaic.fastlane.layout import PAUSED
from mosaic.fastlane.settings import Settings
from mosaic.fastlane.slot_writer import Metrics

RECENT_EPISODES = 20  # whose mean is shown as the return
_NO_SETTINGS = Settings()

Note = Callable[[str], None]
Render = Callable[[], Any]
Rewards = Sequence[Any] | NDArray[Any]


class ShownEnvironment(NamedTuple):
    """One environment that can be seen."""

    tap: Tap
    env_index: int
    render: Render


class EpisodeTally:
    def __init__(self) -> None:
        self.episodes = 0
        self.returns: deque[float] = deque(maxlen=RECENT_EPISODES)


class LiveView:
    """The environments of this process. Without `renders` there is nothing to see, ever."""

    def __init__(
        self,
        settings: Settings = _NO_SETTINGS,
        renders: Sequence[Render] = (),
        note: Note = lambda text: None,
        flags: int = 0,
    ) -> None:
        self.is_due = False
        self.steps = 0  # of each environment so far; kept by who steps them, before it is shown
        self._flags = flags
        self._rewards: Rewards = [0.0] * len(renders)
        self._tallies: dict[int, EpisodeTally] = {}
        self._shown: list[ShownEnvironment] = []
        self._cold: set[int] = set()  # those that have never been rendered
        self._lane = Lane(settings, note_each_cause_once(note), self._on_due) if renders else None
        for index, render in enumerate(renders):
            self._add(index, render)

    def _add(self, index: int, render: Render) -> None:
        assert self._lane is not None
        self._tallies[index] = EpisodeTally()
        tap = self._lane.tap(render, partial(self._metrics, index))
        if tap is None:
            del self._tallies[index]
        else:
            self._shown.append(ShownEnvironment(tap, index, render))
            self._cold.add(index)

    def _on_due(self) -> None:
        self.is_due = True

    def add_episode(self, index: int, total_reward: float) -> None:
        tally = self._tallies.get(index)
        if tally is not None:
            tally.episodes += 1
            tally.returns.append(total_reward)

    def show(self, rewards: Rewards) -> None:
        """By the thread that steps, when it is due; `rewards` are those of the last step."""
        self.is_due = False  # first: what becomes due meanwhile is shown after the next step
        self._rewards = rewards
        for tap, index, render in self._shown:
            if tap.is_due:
                if index in self._cold:
                    # Drivers and fonts are loaded once. The tap must not take that for the cost of
                    # a frame, or the next one would have to wait for seconds.
                    self._cold.discard(index)
                    with suppress(Exception):  # the tap meets it again and says so
                        render()
                tap.show()

    def show_paused(self, is_paused: bool) -> None:
        self._flags = self._flags | PAUSED if is_paused else self._flags & ~PAUSED
        for shown in self._shown:
            shown.tap.tell()

    def close(self) -> None:
        self._shown.clear()
        if self._lane is not None:
            self._lane.close()

    def _metrics(self, index: int) -> Metrics:
        tally = self._tallies[index]
        returns = tally.returns
        return Metrics(
            steps=self.steps,
            episodes=tally.episodes,
            last_reward=float(self._rewards[index]),
            rolling_return=sum(returns) / len(returns) if returns else 0.0,
            flags=self._flags,
        )


def note_each_cause_once(note: Note) -> Note:
    """What one environment cannot do, the others cannot either: say it once."""
    told: set[str] = set()

    def tell(text: str) -> None:
        cause = text.partition(": ")[2]
        if cause not in told:
            told.add(cause)
            note(text)

    return tell


def showing_pauses(
    should_stop: Callable[[], bool],
    is_paused: Callable[[], bool],
    show_paused: Callable[[bool], None],
) -> Callable[[], bool]:
    """`should_stop` blocks while the run is paused; viewers get to know before it does."""

    def ask() -> bool:
        if not is_paused():
            return should_stop()
        show_paused(True)
        try:
            return should_stop()
        finally:
            show_paused(False)

    return ask
