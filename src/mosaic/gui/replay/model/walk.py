"""EpisodeWalk: along the episodes of a run, from the best to the worst or the other way round."""

from __future__ import annotations


class EpisodeWalk:
    """Where it stands among the episodes that are known so far, in one order."""

    def __init__(self, order: str) -> None:
        self.order = order
        self._found: list[int] = []
        self._place = -1
        self.is_all = False

    @property
    def current(self) -> int | None:
        """None: it has not begun."""
        return self._found[self._place] if self._place >= 0 else None

    def add(self, episodes: list[int], is_all: bool) -> None:
        self._found += episodes
        self.is_all = is_all

    def is_known(self, by: int) -> bool:
        return 0 <= self._place + by < len(self._found)

    def move(self, by: int) -> int:
        self._place += by
        return self._found[self._place]
