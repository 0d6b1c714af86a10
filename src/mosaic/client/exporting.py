"""Exports a run: what can be asked for, and who writes it."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from mosaic.client import calls
from mosaic.client.calls import Call
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError
from mosaic.export.destination import folder_name
from mosaic.export.run_rows import ALL_EPISODES, Exported, OnProgress, ignore_progress, parse_choice

if TYPE_CHECKING:
    from mosaic.client.export_rows import CallFunction

TENSORBOARD, CSV, PARQUET, MINARI = "tensorboard", "csv", "parquet", "minari"
FORMATS = (TENSORBOARD, CSV, PARQUET, MINARI)
_TABLES = (CSV, PARQUET)


@dataclass(frozen=True)
class ExportOptions:
    """What to export and how; `episodes` as in `parse_choice`, empty means all."""

    metrics: Collection[str] = ()
    episodes: str = ""
    with_steps: bool = False
    is_wide: bool = False
    force: bool = False
    on_progress: OnProgress = ignore_progress
    # Digests of what a person has confirmed: episodes of an imported run may need it, see
    # contracts/consent.py.
    consents: Collection[str] = ()

    def check(self, export_format: str) -> None:
        if export_format not in FORMATS:
            known = ", ".join(FORMATS)
            raise RequestError(f"{export_format[:40]!r} is not one of {known}", field="format")
        if export_format not in _TABLES and (self.with_steps or self.is_wide):
            raise RequestError(
                f"Steps and the wide form go with tables, not with {export_format}",
                hint="export to csv or parquet",
            )
        if export_format == MINARI and self.metrics:
            raise RequestError("A Minari dataset has episodes, no metrics")
        if isinstance(self.metrics, str):
            raise RequestError("metrics must be a list of names", field="metrics")


def default_folder(record: RunRecord, export_format: str) -> Path:
    return Path.cwd() / f"{folder_name(record.run_name)}-{export_format}"


def export_run(
    ask: CallFunction,
    run_id: str,
    export_format: str,
    folder: Path | str | None,
    options: ExportOptions,
) -> Exported:
    # The simulation comes with them, and few commands need it.
    from mosaic.client.export_rows import RowsWithAllSteps, StoredRows, replayed_episodes

    options.check(export_format)
    choice = parse_choice(options.episodes) if options.episodes else ALL_EPISODES
    record = ask(calls.get(run_id))
    rows = StoredRows(ask, record)
    target = default_folder(record, export_format) if folder is None else Path(folder)
    target = target.expanduser().absolute()
    common: dict[str, Any] = {"force": options.force, "on_progress": options.on_progress}
    if export_format == MINARI:
        from mosaic.export.minari_dataset import export_minari

        indices = rows.episode_indices(choice)
        played = replayed_episodes(ask, rows, indices, options.consents)
        return export_minari(record, played, target, **common)
    common.update(metrics=options.metrics, episodes=choice)
    if export_format == TENSORBOARD:
        from mosaic.export.tensorboard import export_tensorboard

        return export_tensorboard(rows, target, **common)
    from mosaic.export.tables import export_tables

    if options.with_steps:
        rows = RowsWithAllSteps(ask, record, options.consents)
    return export_tables(
        rows,
        target,
        _table_format(export_format),
        with_steps=options.with_steps,
        is_wide=options.is_wide,
        **common,
    )


def _table_format(export_format: str) -> Any:
    from mosaic.export.table_formats import CsvFormat, ParquetFormat

    return CsvFormat() if export_format == CSV else ParquetFormat()


T = TypeVar("T")


class AsyncCaller(Protocol):
    async def _call(self, call: Call[T]) -> T: ...


Answer = TypeVar("Answer")

DEFAULT_OPTIONS = ExportOptions()


class _GivenUpError(Exception):
    """The caller no longer waits for the export."""


async def run_in_thread(client: AsyncCaller, work: Callable[[CallFunction], T]) -> T:
    """Do blocking work beside the event loop; its calls are made on the loop."""
    loop = asyncio.get_running_loop()
    given_up = threading.Event()

    def ask(call: Call[Answer]) -> Answer:
        if given_up.is_set():
            raise _GivenUpError
        return asyncio.run_coroutine_threadsafe(client._call(call), loop).result()

    try:
        return await asyncio.to_thread(work, ask)
    finally:
        given_up.set()
