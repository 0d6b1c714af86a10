"""StoredRows: what a run has stored, page by page, as an export wants it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Protocol, TypeVar

from mosaic.client import history_calls
from mosaic.client.calls import Call
from mosaic.client.history_calls import Page, SeriesRange
from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.history import MetricInfo, MetricSeries
from mosaic.contracts.run_record import RunRecord
from mosaic.export.episode_choice import EpisodeChoice
from mosaic.export.played_episodes import LeftOutEpisode

T = TypeVar("T")

# As many as the daemon likes to give at once.
_ANY = 0


class Ask(Protocol):
    """Makes a call and waits for its answer."""

    def __call__(self, call: Call[T]) -> T: ...


class StoredRows:
    def __init__(self, ask: Ask, record: RunRecord) -> None:
        self.record = record
        self._ask = ask
        self._run_id = record.run_id

    def metrics(self) -> list[MetricInfo]:
        return self._ask(history_calls.metrics(self._run_id))

    def points(self, name: str) -> Iterator[MetricSeries]:
        cursor = 0
        while True:
            call = history_calls.series([self._run_id], [name], SeriesRange(), cursor)
            pages = self._ask(call)
            yield from pages
            cursor = pages[0].next_cursor if pages else 0
            if not cursor:
                return

    def episodes(self, choice: EpisodeChoice) -> Iterator[list[EpisodeSummary]]:
        """Oldest first; the best ones from the best on."""
        if choice.count:
            chosen = self._first_episodes(choice.order, choice.count)
            yield chosen[::-1] if choice.order == "newest" else chosen
            return
        for page in self._episode_pages(choice.order, _ANY):
            if chosen := [row for row in page if choice.holds(row.episode_index)]:
                yield chosen

    def steps(self, choice: EpisodeChoice) -> Iterator[list[TrainingStep] | LeftOutEpisode]:
        if choice.is_all:
            yield from self.steps_of(None)
            return
        for index in self.episode_indices(choice):
            yield from self.steps_of(index)

    def steps_of(self, episode_index: int | None) -> Iterator[list[TrainingStep]]:
        """Of this episode in the latest attempt that has it, or of all episodes."""
        yield from _pages(
            lambda cursor: self._ask(history_calls.steps(self._run_id, episode_index, None, cursor))
        )

    def episode_indices(self, choice: EpisodeChoice) -> Iterator[int]:
        """Each once, though several attempts may have it."""
        seen: set[int] = set()
        for page in self.episodes(choice):
            for episode in page:
                if episode.episode_index not in seen:
                    seen.add(episode.episode_index)
                    yield episode.episode_index

    def _first_episodes(self, order: str, count: int) -> list[EpisodeSummary]:
        found: list[EpisodeSummary] = []
        for page in self._episode_pages(order, count):
            found += page
            if len(found) >= count:
                break
        return found[:count]

    def _episode_pages(self, order: str, limit: int) -> Iterator[list[EpisodeSummary]]:
        yield from _pages(
            lambda cursor: self._ask(history_calls.episodes(self._run_id, order, limit, cursor))
        )


def _pages(page_at: Callable[[int], Page[T]]) -> Iterator[list[T]]:
    cursor = 0
    while True:
        page = page_at(cursor)
        if page.rows:
            yield page.rows
        cursor = page.next_cursor
        if not cursor:
            return
