"""The client's methods about history."""

from __future__ import annotations

from collections.abc import Iterator

from mosaic.client import history_calls, recording_calls
from mosaic.client.calling import Calling
from mosaic.client.history_calls import Names, SeriesRange
from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.history import MetricInfo, MetricSeries
from mosaic.contracts.replay import EpisodeRecording


class HistoryMethods:
    def metrics(self: Calling, run_id: str) -> list[MetricInfo]:
        """Which metrics a run has reported, by name."""
        return self._call(history_calls.metrics(run_id))

    def series(
        self: Calling,
        run_ids: Names,
        names: Names,
        first_step: int | None = None,
        last_step: int | None = None,
        buckets: int = 0,
    ) -> list[MetricSeries]:
        """Curves, run by run and in each run name by name; empty where a run has none.

        With `buckets`, each in at most so many stretches of low, high and mean; without, all
        points.
        """
        wanted = SeriesRange(first_step, last_step, buckets)
        found = []
        for part in history_calls.series_parts(run_ids, names, wanted):
            for page in self._call(part):
                pages = [page]
                while pages[-1].next_cursor:
                    (more,) = self._call(history_calls.more_of(pages[-1], wanted))
                    pages.append(more)
                found.append(history_calls.joined(pages))
        return found

    def episodes(
        self: Calling, run_id: str, limit: int = 0, order: str = "oldest"
    ) -> Iterator[EpisodeSummary]:
        """Finished episodes: "oldest", "newest", "best" or "worst" first; limit 0 means all."""
        cursor = given = 0
        while True:
            left = limit - given if limit else 0
            page = self._call(history_calls.episodes(run_id, order, left, cursor))
            yield from page.rows
            cursor, given = page.next_cursor, given + len(page.rows)
            if not cursor or (limit and given >= limit):
                return

    def episode(self: Calling, run_id: str, index: int) -> EpisodeSummary:
        """The episode with this index, of the latest attempt that has finished it."""
        call = history_calls.episodes(run_id, "newest", 1, 0, index)
        return history_calls.one_episode(run_id, index, self._call(call))

    def steps(
        self: Calling, run_id: str, episode_index: int | None = None, attempt: int | None = None
    ) -> Iterator[TrainingStep]:
        """Recorded steps: of all episodes, or of one in the latest attempt that has it."""
        cursor = 0
        while True:
            page = self._call(history_calls.steps(run_id, episode_index, attempt, cursor))
            yield from page.rows
            cursor = page.next_cursor
            if not cursor:
                return

    def get_recording(
        self: Calling,
        run_id: str,
        episode_index: int,
        attempt: int | None = None,
        consent: str = "",
    ) -> EpisodeRecording:
        """What `mosaic.replay.simulation` needs to play an episode again.

        Of the latest attempt that has it by default; its `problem` says why it cannot be played.
        Where its `consent` is something, playing it would run what an imported run says: ask again
        with the digest of that, once a person has seen its lines.
        """
        call = recording_calls.get_recording(run_id, episode_index, attempt, consent)
        return self._call(call)
