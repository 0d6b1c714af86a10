"""The calls about what runs have stored, and how long answers are asked for in parts."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from mosaic.client.calls import Call
from mosaic.client.requests import new_request
from mosaic.contracts.events import EpisodeSummary, TrainingStep
from mosaic.contracts.history import MetricInfo, MetricSeries
from mosaic.errors import RequestError
from mosaic.wire.generated import trainer_pb2 as pb
from mosaic.wire.history import (
    episode_from_proto,
    info_from_proto,
    series_from_proto,
    step_from_proto,
)

T = TypeVar("T")
Names = str | Iterable[str]

# Buckets, or series of points, in one answer; the daemon allows more.
ROWS_PER_CALL = 100_000
SERIES_PER_CALL = 500


class Page(NamedTuple, Generic[T]):
    rows: list[T]
    next_cursor: int


class SeriesRange(NamedTuple):
    first_step: int | None = None
    last_step: int | None = None
    buckets: int = 0


def metrics(run_id: str) -> Call[list[MetricInfo]]:
    return Call(
        "ListMetrics",
        new_request(pb.RunRequest, run_id=run_id),
        lambda answer: [info_from_proto(info) for info in answer.metrics],
    )


def series(
    run_ids: Sequence[str], names: Sequence[str], wanted: SeriesRange, after_cursor: int = 0
) -> Call[list[MetricSeries]]:
    request = new_request(
        pb.QuerySeriesRequest,
        run_ids=run_ids,
        names=names,
        after_cursor=after_cursor,
        **wanted._asdict(),
    )
    return Call(
        "QuerySeries",
        request,
        lambda answer: [series_from_proto(found) for found in answer.series],
    )


def series_parts(
    run_ids: Names, names: Names, wanted: SeriesRange
) -> Iterator[Call[list[MetricSeries]]]:
    """Calls whose answers, one after the other, are all series of all runs, run by run."""
    runs, chosen = _listed(run_ids), _listed(names)
    if wanted.buckets < 0:
        raise RequestError(f"buckets is {wanted.buckets}; it must be 0 or more", field="buckets")
    most = max(1, min(SERIES_PER_CALL, ROWS_PER_CALL // max(1, wanted.buckets)))
    runs_at_once = max(1, most // max(1, len(chosen)))
    for some_runs in _sliced(runs, runs_at_once):
        for some_names in _sliced(chosen, most):
            yield series(some_runs, some_names, wanted)


def more_of(page: MetricSeries, wanted: SeriesRange) -> Call[list[MetricSeries]]:
    return series([page.run_id], [page.name], wanted, page.next_cursor)


def joined(pages: Sequence[MetricSeries]) -> MetricSeries:
    """Pages of the same points, put together."""
    if len(pages) == 1:
        return pages[0]

    def column(name: str) -> Any:
        return tuple(itertools.chain.from_iterable(getattr(page, name) for page in pages))

    return MetricSeries(
        run_id=pages[0].run_id,
        name=pages[0].name,
        first_steps=column("first_steps"),
        last_steps=column("last_steps"),
        means=column("means"),
        lows=column("lows"),
        highs=column("highs"),
        counts=column("counts"),
        timestamps=column("timestamps"),
        points=pages[-1].points,
    )


def episodes(
    run_id: str, order: str, limit: int, after_cursor: int, episode_index: int | None = None
) -> Call[Page[EpisodeSummary]]:
    request = new_request(
        pb.ListEpisodesRequest,
        run_id=run_id,
        limit=limit,
        after_cursor=after_cursor,
        order=order,
        episode_index=episode_index,
    )
    return Call(
        "ListEpisodes",
        request,
        lambda answer: Page(
            [episode_from_proto(run_id, row) for row in answer.episodes], answer.next_cursor
        ),
    )


def one_episode(run_id: str, index: int, found: Page[EpisodeSummary]) -> EpisodeSummary:
    if not found.rows:
        raise RequestError(
            f"The run has no finished episode {index}",
            hint=f"`mosaic show {run_id}` says how many there are",
            field="index",
        )
    return found.rows[0]


def steps(
    run_id: str, episode_index: int | None, attempt: int | None, after_cursor: int
) -> Call[Page[TrainingStep]]:
    request = new_request(
        pb.ListStepsRequest,
        run_id=run_id,
        episode_index=episode_index,
        attempt=attempt,
        after_cursor=after_cursor,
    )
    return Call(
        "ListSteps",
        request,
        lambda answer: Page(
            [step_from_proto(run_id, row) for row in answer.steps], answer.next_cursor
        ),
    )


def _listed(text: Names) -> list[str]:
    return [text] if isinstance(text, str) else list(text)


def _sliced(items: list[str], size: int) -> Iterator[list[str]]:
    for start in range(0, len(items) or 1, size):
        yield items[start : start + size]
