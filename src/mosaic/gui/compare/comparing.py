"""Compares runs away from the window's thread: reading, bootstrapping and drawing take a while."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic import __version__
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.compare.requirements import require_packages
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError
from mosaic.files import atomic_write
from mosaic.front.human import moment
from mosaic.gui.compare.awaited_history import AwaitedHistory

if TYPE_CHECKING:
    from mosaic.compare.comparison import Comparison


@dataclass(frozen=True)
class Compared:
    comparison: Comparison
    metrics: tuple[str, ...]  # what else could be compared
    groups: dict[str, str]  # the label of each run's group


async def compared(
    client: AsyncTrainerClient, run_ids: tuple[str, ...], metric: str | None
) -> Compared:
    """Raises DependencyError, which says what to install, and RequestError for odd choices."""
    require_packages()
    records = list(await asyncio.gather(*(client.get_run(run_id) for run_id in run_ids)))
    infos = await asyncio.gather(*(client.metrics(run_id) for run_id in run_ids))
    names = sorted({info.name for found in infos for info in found})
    history = AwaitedHistory(client)
    pool = ThreadPoolExecutor(1, "mosaic-compare")
    try:
        loop = asyncio.get_running_loop()
        comparison, groups = await loop.run_in_executor(pool, _build, history, records, metric)
    finally:
        history.close()
        pool.shutdown(wait=False)
    return Compared(comparison, tuple(names), groups)


def _build(
    history: AwaitedHistory, records: list[RunRecord], metric: str | None
) -> tuple[Comparison, dict[str, str]]:
    from mosaic.compare.building import build_comparison
    from mosaic.compare.groups import Selection, form_groups

    by_id = {record.run_id: record for record in records}
    # One selection per run: runs that differ only in their seed find together by themselves.
    groups = form_groups([Selection((run_id,)) for run_id in by_id], by_id)
    labels = {run.run_id: group.label for group in groups for run in group.runs}
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
