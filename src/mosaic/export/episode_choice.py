"""Which episodes are meant: `3`, `10..20`, `best:5`, `last:10`, or all."""

from __future__ import annotations

import re
from dataclasses import dataclass

from mosaic.errors import RequestError

_RANGE = re.compile(r"(\d{1,18})(?:\.\.(\d{1,18}))?")
_RANKED = re.compile(r"(best|last):(\d{1,9})")


@dataclass(frozen=True)
class EpisodeChoice:
    """Either a range of episode numbers, both ends included, or so many of the best or last."""

    first: int | None = None
    last: int | None = None
    order: str = "oldest"  # "best" and "newest" come with a count
    count: int = 0

    @property
    def is_all(self) -> bool:
        return self == ALL

    def holds(self, episode_index: int) -> bool:
        return (self.first is None or self.first <= episode_index) and (
            self.last is None or episode_index <= self.last
        )


ALL = EpisodeChoice()


def parse_choice(text: str) -> EpisodeChoice:
    if match := _RANKED.fullmatch(text):
        count = int(match[2])
        if count:
            return EpisodeChoice(order="best" if match[1] == "best" else "newest", count=count)
    if match := _RANGE.fullmatch(text):
        first = int(match[1])
        last = int(match[2]) if match[2] else first
        if first <= last:
            return EpisodeChoice(first, last)
    raise RequestError(
        f"{text[:80]!r} does not say which episodes",
        hint="3, 10..20 (both included), best:5 or last:10",
    )
