"""Series: short episodes of one environment, one after the other in the same lists.

One thread appends, without a lock, and another one reads what is finished: that does not change
any more. Lists of their own for each episode would cost both threads several times as much, and
the garbage collector some more.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from mosaic.contracts.process_recording import TERMINATED, TRUNCATED

LONG = 2000  # steps: an environment that pauses keeps this much in memory


class Finished(NamedTuple):
    """What belongs to some episodes; of actions and rewards, `lengths` are each one's share."""

    environment: dict[str, Any]
    numbers: list[int]
    starts: Sequence[bytes]  # memory of the random numbers
    ends: list[int]
    lengths: list[int]
    actions: list[Any]
    rewards: list[Any]

    def each(self) -> Iterator[tuple[int, tuple[Any, ...]]]:
        """Its number, and the episode as a tape tells those that are of no series."""
        at = 0
        rows = zip(self.numbers, self.starts, self.ends, self.lengths)  # noqa: B905  # Python 3.9
        for number, start, end, length in rows:
            actions, rewards = self.actions[at : at + length], self.rewards[at : at + length]
            over = bool(end & TERMINATED), bool(end & TRUNCATED)
            yield number, (self.environment, start, None, actions, rewards, *over)
            at += length


class Series:
    """`stop` is where the last episode that has ended stops, in `actions` and `rewards`.

    Of each one that has ended, the tape appends to `ended` how it began, where it stops, and if it
    was terminated and truncated. Whoever numbers it appends to `numbers`, which makes it known.
    `is_announced`: the other thread has yet to `take` what is new.
    """

    __slots__ = (
        "_taken",
        "actions",
        "ended",
        "environment",
        "is_announced",
        "numbers",
        "rewards",
        "stop",
    )

    def __init__(self, environment: dict[str, Any]) -> None:
        self.environment = environment
        self.actions: list[Any] = []
        self.rewards: list[Any] = []
        self.ended: list[tuple[Any, int, Any, Any]] = []
        self.numbers: list[int] = []
        self.stop = 0
        self.is_announced = False
        self._taken = 0  # episodes

    def take(self) -> Finished:
        """By the other thread: what is new, at least one episode."""
        self.is_announced = False  # first: what is finished from now on is announced again
        first, last = self._taken, len(self.numbers)
        self._taken = last
        ended = self.ended[first:last]
        starts, stops, _, _ = zip(*ended)  # noqa: B905  # Python 3.9
        begin = self.ended[first - 1][1] if first else 0
        lengths = list(map(operator.sub, stops, (begin, *stops)))
        ends = [
            (TERMINATED if one else 0) | (TRUNCATED if other else 0) for _, _, one, other in ended
        ]
        return Finished(
            self.environment,
            self.numbers[first:last],
            starts,
            ends,
            lengths,
            self.actions[begin : stops[-1]],
            self.rewards[begin : stops[-1]],
        )
