"""`mosaic export`: runs as files for other tools."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import is_terminal, printable, say, say_json
from mosaic.front.human import amount, count
from mosaic.front.references import GROUP_HELP, resolve_runs

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.client.exporting import ExportOptions
    from mosaic.contracts.run_record import RunRecord
    from mosaic.export.run_rows import Exported

# As in mosaic.client.exporting, which would be slow to import for a mere --help.
FORMATS = ("tensorboard", "csv", "parquet", "minari")
PROGRESS_EVERY_S = 0.5
INCOMPLETE_STATUS = 1  # something is written, but not all that was asked for
_LEFT_OUT_SHOWN = 10


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "export",
        help="write runs as files for other tools",
        description=(
            "Writes runs as files for other tools. Ends with status 1 when some of the steps that "
            "--steps asks for cannot be had."
        ),
    )
    parser.add_argument("runs", metavar="RUN", nargs="+", help=GROUP_HELP)
    parser.add_argument("--to", choices=FORMATS, required=True, help="what to write")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="FOLDER",
        help="default: ./<run name>-<format>; with several runs a folder for each in FOLDER",
    )
    parser.add_argument(
        "--metrics", nargs="+", default=[], metavar="NAME", help="only these (default: all)"
    )
    parser.add_argument(
        "--episodes", default="", metavar="WHICH", help="N, N..M, best:K or last:K (default: all)"
    )
    parser.add_argument(
        "--steps",
        action="store_true",
        help="csv, parquet: every step, too; played again where only actions were recorded",
    )
    parser.add_argument("--wide", action="store_true", help="csv, parquet: a column per metric")
    parser.add_argument("--force", action="store_true", help="replace an earlier export")
    parser.add_argument(
        "--yes",
        action="store_true",
        help="minari, --steps: run what an imported run brings along, too",
    )
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(handler=export)


def export(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.submission import with_consent
    from mosaic.client.exporting import ExportOptions

    progress = ExportProgress(arguments.json)
    options = ExportOptions(
        metrics=arguments.metrics,
        episodes=arguments.episodes,
        with_steps=arguments.steps,
        is_wide=arguments.wide,
        force=arguments.force,
        on_progress=progress.show,
    )
    options.check(arguments.to)
    done: list[dict[str, Any]] = []
    is_incomplete = False
    with open_client(arguments) as client:
        for record, folder in _targets(client, arguments):
            made = with_consent(
                partial(_exported, client, record, arguments.to, folder, options, progress),
                is_given=arguments.yes,
                question="Run it?",
            )
            done.append(_as_json(record, made))
            if not arguments.json:
                _tell(record, made)
            is_incomplete = is_incomplete or made.is_incomplete
    if arguments.json:
        say_json(done)
    return INCOMPLETE_STATUS if is_incomplete else 0


def _exported(
    client: TrainerClient,
    record: RunRecord,
    export_format: str,
    folder: Path,
    options: ExportOptions,
    progress: ExportProgress,
    granted: Sequence[str],
) -> Exported:
    progress.begin(record.run_name)
    try:
        chosen = replace(options, consents=granted)
        return client.export_run(record.run_id, export_format, folder, chosen)
    finally:
        progress.end()


def _targets(client: TrainerClient, arguments: argparse.Namespace) -> list[tuple[RunRecord, Path]]:
    """Each run once, with a folder of its own also where names are the same."""
    from mosaic.client.exporting import default_folder

    records = [client.get_run(run_id) for run_id in resolve_runs(client, arguments.runs)]
    if len(records) == 1 and arguments.out is not None:
        return [(records[0], arguments.out)]
    targets: dict[Path, RunRecord] = {}
    for record in records:
        folder = default_folder(record, arguments.to)
        if arguments.out is not None:
            folder = arguments.out / folder.name.removesuffix(f"-{arguments.to}")
        if folder in targets:
            folder = folder.with_name(f"{folder.name}-{record.run_id[-6:]}")
        targets[folder] = record
    return [(record, folder) for folder, record in targets.items()]


def _as_json(record: RunRecord, made: Exported) -> dict[str, Any]:
    return {
        "run_id": record.run_id,
        "run_name": record.run_name,
        "folder": str(made.folder),
        "rows": made.rows,
        "left_out": list(made.left_out),
        "is_incomplete": made.is_incomplete,
    }


def _tell(record: RunRecord, made: Exported) -> None:
    rows = ", ".join(f"{count(number)} {part}" for part, number in made.rows.items())
    unfinished = "" if record.is_over else " so far"
    say(f"{made.folder}: {rows}{unfinished}")
    for text in made.left_out[:_LEFT_OUT_SHOWN]:
        say(f"  {printable(text)}")
    if len(made.left_out) > _LEFT_OUT_SHOWN:
        say(f"  and {count(len(made.left_out) - _LEFT_OUT_SHOWN)} more, see export.json")
    if made.advice:
        say(f"  {made.advice}")


class ExportProgress:
    """A line on the terminal that is written over, for exports that take their time."""

    def __init__(self, is_silent: bool) -> None:
        self._is_shown = not is_silent and is_terminal(sys.stderr)
        self._run_name = ""
        self._next_at = 0.0
        self._is_on_screen = False

    def begin(self, run_name: str) -> None:
        self._run_name = printable(run_name)
        self._next_at = time.monotonic() + PROGRESS_EVERY_S

    def show(self, rows: int) -> None:
        if self._is_shown and time.monotonic() >= self._next_at:
            self._next_at = time.monotonic() + PROGRESS_EVERY_S
            self._is_on_screen = True
            print(f"\r{self._run_name}: {amount(rows, 'row')}", end="", file=sys.stderr, flush=True)

    def end(self) -> None:
        if self._is_on_screen:
            self._is_on_screen = False
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
