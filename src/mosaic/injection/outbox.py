"""Outbox: what is sent when, so that neither the pipe nor its reader is flooded. Pure.

Of each metric the newest value is kept until its turn, so the last one always arrives. Episodes go
out many at a time; beyond so many a second they are merged into one message.
"""

from __future__ import annotations

import json
import math
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from operator import itemgetter
from typing import Any

MAX_LINE_BYTES = 4096  # what a pipe takes whole or not at all
INTERVAL_S = 0.25  # between two values of one metric
EPISODES_PER_S = 1_000  # of a microsecond each
_MAX_TEXT = 300  # characters: escaped, each may take twelve bytes
_MAX_WAITING = 1000  # messages that are sent once
_MAX_NAMES = 10_000  # whose last time is remembered

_TOTAL, _LENGTH = itemgetter(0), itemgetter(1)

Write = Callable[[bytes], bool]  # False: no room now


Episode = tuple[float, int, int, int]  # return, length, number of the environment, its own


class Merged:
    """Episodes as one message."""

    def __init__(self) -> None:
        self.count = 0
        self._total, self._length, self._last = 0.0, 0, 0.0
        self._first_number = 0

    def add(self, episodes: Sequence[Episode]) -> None:
        if not self.count:
            self._first_number = episodes[0][3]  # the others follow without a gap
        self.count += len(episodes)
        self._total += sum(map(_TOTAL, episodes))
        self._length += sum(map(_LENGTH, episodes))
        self._last = episodes[-1][0]

    def message(self, process: int) -> dict[str, Any]:
        where = {"process": process, "number": self._first_number} if process else {}
        return {
            "kind": "episodes",
            "count": self.count,
            "mean_return": self._total / self.count,
            "mean_length": self._length / self.count,
            "last_return": self._last,
            **where,
        }


class Outbox:
    def __init__(
        self, interval_s: float = INTERVAL_S, episodes_per_s: int = EPISODES_PER_S, pid: int = 0
    ) -> None:
        self._interval_s, self._rate, self._pid = interval_s, episodes_per_s, pid
        self._messages: deque[dict[str, Any]] = deque(maxlen=_MAX_WAITING)
        self._values: dict[str, tuple[float, int | None]] = {}  # not sent yet
        self._sent: dict[str, tuple[float, int | None]] = {}
        self._next_at: dict[str, float] = {}
        self.process = 0  # the file with recorded episodes of this process; 0: there is none
        self._episodes: deque[Episode] = deque()
        self._merged = Merged()
        self._allowance, self._refilled_at = float(episodes_per_s), 0.0

    def message(self, message: dict[str, Any]) -> None:
        """To be sent once, as soon as possible."""
        self._messages.append(message)

    def metric(self, name: str, value: float, step: int | None) -> None:
        # The same point through two hooks (a logger and its TensorBoard writer) is one.
        if self._sent.get(name) != (value, step) or step is None:
            self._values[name] = value, step

    def episodes(self, ended: Sequence[Episode]) -> None:
        # In order: once some are merged, all are, until those have been sent.
        room = 0 if self._merged.count else max(0, self._rate - len(self._episodes))
        self._episodes.extend(ended[:room])
        if len(ended) > room:
            self._merged.add(ended[room:])

    def drain(self, now: float, write: Write, *, is_last: bool = False) -> bool:
        """Writes what is due, the last time everything; False when there was no room for all."""
        return (
            self._drain_messages(write)
            and self._drain_episodes(now, write, is_last)
            and self._drain_metrics(now, write, is_last)
        )

    def _drain_messages(self, write: Write) -> bool:
        while self._messages:
            if not write(line_of(self._messages[0])):
                return False
            self._messages.popleft()
        return True

    def _drain_metrics(self, now: float, write: Write, is_last: bool) -> bool:
        for name, (value, step) in list(self._values.items()):
            if not is_last and now < self._next_at.get(name, now):
                continue
            metric = {"kind": "metric", "name": name, "value": value, "step": step}
            if not write(line_of(metric)):
                return False
            self._sent[name] = self._values.pop(name)
            self._next_at[name] = now + self._interval_s
        if len(self._next_at) > _MAX_NAMES:  # names without end
            self._next_at.clear()
            self._sent.clear()
        return True

    def _episode_line(self, total: float, length: int, env: int, number: int) -> bytes:
        """As `line_of` would have it, in a third of the time."""
        shown = float.__repr__(total) if math.isfinite(total) else json.dumps(total)
        line = f'"return":{shown},"length":{length},"env":{env},"pid":{self._pid}'
        if self.process:
            line += f',"process":{self.process},"number":{number}'
        return f'{{"kind":"episode",{line}}}\n'.encode("ascii")

    def _drain_episodes(self, now: float, write: Write, is_last: bool) -> bool:
        gained = max(0.0, now - self._refilled_at) * self._rate
        self._allowance = min(float(self._rate), self._allowance + gained)
        self._refilled_at = now
        while self._episodes and (is_last or self._allowance >= 1):
            most = len(self._episodes) if is_last else int(self._allowance)
            lines = _fitting(self._episode_line(*each) for each in islice(self._episodes, most))
            if not write(b"".join(lines)):
                return False
            self._allowance -= len(lines)
            for _ in lines:
                self._episodes.popleft()
        if self._merged.count and not self._episodes and (is_last or self._allowance >= 1):
            if not write(line_of(self._merged.message(self.process))):
                return False
            self._allowance -= 1
            self._merged = Merged()
        return True


def _fitting(lines: Iterable[bytes]) -> list[bytes]:
    """As many of them as a pipe takes at once."""
    fitting, size = [], 0
    for line in lines:
        size += len(line)
        if size > MAX_LINE_BYTES:
            break
        fitting.append(line)
    return fitting


def line_of(message: dict[str, Any]) -> bytes:
    """At most as long as a pipe takes at once. Numbers that are not finite are Python's NaN."""
    line = _encoded(message)
    if len(line) <= MAX_LINE_BYTES:
        return line
    return _encoded(
        {
            key: value[:_MAX_TEXT] if isinstance(value, str) else value
            for key, value in message.items()
        }
    )


def _encoded(message: dict[str, Any]) -> bytes:
    return json.dumps(message, separators=(",", ":")).encode("ascii") + b"\n"
