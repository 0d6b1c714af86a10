"""Exports a run: asks for its rows and has them written."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.client import calls
from mosaic.client.stored_rows import Ask, StoredRows
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError
from mosaic.export.destination import folder_name
from mosaic.export.episode_choice import ALL, parse_choice
from mosaic.export.run_rows import Exported, OnProgress, ignore_progress

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
    ask: Ask, run_id: str, export_format: str, folder: Path | str | None, options: ExportOptions
) -> Exported:
    options.check(export_format)
    choice = parse_choice(options.episodes) if options.episodes else ALL
    record = ask(calls.get(run_id))
    rows = StoredRows(ask, record)
    target = default_folder(record, export_format) if folder is None else Path(folder)
    target = target.expanduser().absolute()
    common: dict[str, Any] = {"force": options.force, "on_progress": options.on_progress}
    if export_format == MINARI:
        from mosaic.client.played_again import episodes_played_again
        from mosaic.export.minari_dataset import export_minari

        indices = rows.episode_indices(choice)
        played = episodes_played_again(ask, rows, indices, options.consents)
        return export_minari(record, played, target, **common)
    common.update(metrics=options.metrics, episodes=choice)
    if export_format == TENSORBOARD:
        from mosaic.export.tensorboard_export import export_tensorboard

        return export_tensorboard(rows, target, **common)
    from mosaic.export.table_export import export_tables

    if options.with_steps:
        from mosaic.client.all_steps import RowsWithAllSteps

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
    if export_format == CSV:
        from mosaic.export.csv_table import CsvFormat

        return CsvFormat()
    from mosaic.export.parquet_table import ParquetFormat

    return ParquetFormat()
