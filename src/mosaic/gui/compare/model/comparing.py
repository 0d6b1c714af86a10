"""Which runs are compared, and the comparing itself, away from the window's thread."""

from __future__ import annotations

import asyncio
import concurrent.futures
import time
from collections.abc import Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from mosaic import __version__
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.compare.requirements import require_packages
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError, RequestError
from mosaic.files import atomic_write
from mosaic.front.human import moment

if TYPE_CHECKING:
    from mosaic.compare.comparison import Comparison


T = TypeVar("T")
_ANSWER_WAIT_S = 60.0


class BlockingHistory:
    """Lets a computing thread ask the daemon through the window's one client.

    A `mosaic.compare.building.HistoryClient`. Made in the loop's thread, used in another one.
    """

    def __init__(self, client: AsyncTrainerClient) -> None:
        self._client = client
        self._loop = asyncio.get_running_loop()
        self._is_closed = False

    def close(self) -> None:
        """From now on every call fails at once instead of after a long wait."""
        self._is_closed = True

    def metrics(self, run_id: str) -> list[MetricInfo]:
        return self._wait_for(self._client.metrics(run_id))

    def series(
        self,
        run_ids: list[str],
        names: list[str],
        first_step: int | None = None,
        last_step: int | None = None,
        buckets: int = 0,
    ) -> list[MetricSeries]:
        return self._wait_for(self._client.series(run_ids, names, first_step, last_step, buckets))

    def _wait_for(self, asking: Coroutine[Any, Any, T]) -> T:
        if self._is_closed:
            asking.close()
            raise MosaicError("nobody waits for this comparison any more")
        answer = asyncio.run_coroutine_threadsafe(asking, self._loop)
        try:
            return answer.result(_ANSWER_WAIT_S)
        except (concurrent.futures.CancelledError, concurrent.futures.TimeoutError) as error:
            raise MosaicError(
                "the daemon did not answer while runs were compared", hint="try again"
            ) from error


@dataclass(frozen=True)
class ComparedRuns:
    comparison: Comparison
    metrics: tuple[str, ...]  # what else could be compared
    groups: dict[str, str]  # the label of each run's group


async def compare_runs(
    client: AsyncTrainerClient, run_ids: tuple[str, ...], metric: str | None
) -> ComparedRuns:
    """Raises DependencyError, which says what to install, and RequestError for odd choices."""
    require_packages()
    records = await _records(client, run_ids)
    infos = await asyncio.gather(*(client.metrics(run_id) for run_id in run_ids))
    names = sorted({info.name for found in infos for info in found})
    history = BlockingHistory(client)
    pool = ThreadPoolExecutor(1, "mosaic-compare")
    try:
        loop = asyncio.get_running_loop()
        comparison, groups = await loop.run_in_executor(
            pool, _build, history, run_ids, records, metric
        )
    finally:
        history.close()
        pool.shutdown(wait=False)
    return ComparedRuns(comparison, tuple(names), groups)


async def _records(client: AsyncTrainerClient, run_ids: Sequence[str]) -> dict[str, RunRecord]:
    """Of these runs and of those that they continue."""
    from mosaic.compare.groups import missing_ancestors

    async def whole(wanted: Sequence[str]) -> dict[str, RunRecord]:
        found = await asyncio.gather(*(client.get_run(run_id) for run_id in wanted))
        return dict(zip(wanted, found, strict=True))

    records = await whole(run_ids)
    known = {record.run_id: record for record in await client.list_runs(limit=0)}
    return records | await whole(missing_ancestors(records, known))


def _build(
    history: BlockingHistory,
    run_ids: Sequence[str],
    records: Mapping[str, RunRecord],
    metric: str | None,
) -> tuple[Comparison, dict[str, str]]:
    from mosaic.compare.building import build_comparison
    from mosaic.compare.groups import Selection, form_groups

    # One selection per run: runs that differ only in their seed are grouped automatically.
    groups = form_groups([Selection((run_id,)) for run_id in run_ids], records)
    labels: dict[str, str] = {}
    for group in groups:
        before = {one.run_id for found in group.ancestors.values() for one in found}
        labels |= dict.fromkeys(before.intersection(run_ids), group.label)
        labels |= {run.run_id: group.label for run in group.runs}
    comparison = build_comparison(history, groups, metric=metric, tells_unchecked=True)
    return comparison, labels


def write_report(comparison: Comparison, path: Path) -> Path:
    from mosaic.compare.building import title_of
    from mosaic.compare.report import html_report

    page = html_report(comparison, title_of(comparison), moment(time.time()), __version__)
    return _written(path, page.encode())


def write_picture(comparison: Comparison, path: Path) -> Path:
    from mosaic.compare.building import title_of
    from mosaic.compare.charts import overview_png

    picture = overview_png(comparison, title_of(comparison), comparison.headlines())
    return _written(path, picture)


def _written(path: Path, data: bytes) -> Path:
    try:
        atomic_write(path.absolute(), data, mode=0o644)
    except OSError as error:
        raise RequestError(
            f"{path} cannot be written: {error.strerror}", hint="choose another place"
        ) from error
    return path


FEWEST = 2
_MOST_OFFERED = 20


def without(run_ids: Sequence[str], gone: Iterable[str]) -> tuple[str, ...]:
    left = frozenset(gone)
    return tuple(run_id for run_id in run_ids if run_id not in left)


def addable(runs: Sequence[RunRecord], compared: Sequence[str]) -> list[RunRecord]:
    """Runs of the same environment first, the newest of them ahead; only a few are offered."""
    chosen = frozenset(compared)
    environments = {run.env_id for run in runs if run.run_id in chosen}
    others = [run for run in runs if run.run_id not in chosen]
    near = [run for run in others if run.env_id in environments]
    far = [run for run in others if run.env_id not in environments]
    return (near if environments else [*near, *far])[:_MOST_OFFERED]


def missing_text(count: int) -> tuple[str, str]:
    """A title and a sentence for a page with too few runs on it."""
    how = (
        "Select several runs below (Ctrl+click or Shift+click), then Compare. "
        "Runs that differ only in their seed are taken together."
    )
    if count == 1:
        return "One run is not a comparison", how
    return "No runs to compare", how
