"""`mosaic archive` and `mosaic import`: runs that move from home to home as one file each."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.control_commands import find_each, for_each
from mosaic.cli.session import open_client
from mosaic.cli.terminal import paint, printable, say
from mosaic.contracts.keeping import parse_size
from mosaic.errors import RequestError
from mosaic.front.human import size
from mosaic.front.run_reference import GROUP_HELP

if TYPE_CHECKING:
    from mosaic.client import TrainerClient

SUFFIX = ".mosaic.zip"


def add(commands: Any) -> None:
    archive = commands.add_parser("archive", help="write everything of a run into one file")
    archive.add_argument("runs", nargs="+", metavar="RUN", help=GROUP_HELP)
    archive.add_argument("--out", metavar="FILE|FOLDER", help="default: the current folder")
    archive.set_defaults(handler=archive_runs)
    importing = commands.add_parser("import", help="take in runs from archives")
    importing.add_argument("files", nargs="+", metavar="FILE", help="written by `mosaic archive`")
    importing.add_argument(
        "--max-size",
        metavar="SIZE",
        help="what a run may become on disk (20GB), if that is more than is usual",
    )
    importing.set_defaults(handler=import_runs)


def archive_runs(arguments: argparse.Namespace) -> int:
    def archive(client: TrainerClient, run_id: str) -> None:
        record = client.get_run(run_id)
        target = archive_path(arguments.out, record.run_name, record.run_id, is_only)
        path = client.archive_run(record.run_id, target)
        say(f"archived {printable(record.run_name)} as {path}, {size(path.stat().st_size)}")

    with open_client(arguments) as client:
        run_ids, not_found = find_each(client, arguments.runs)
        is_only = len(run_ids) == 1
        failed = for_each(client, run_ids, archive)
        return not_found or failed


def archive_path(out: str | None, name: str, run_id: str, is_only: bool) -> Path:
    """A folder gets a file named after the run; a file is taken for a single run only."""
    from mosaic.front.training_config import label

    file_name = f"{label(name).strip('-.') or 'run'}-{run_id}{SUFFIX}"
    if out is None:
        return Path(file_name)
    target = Path(out).expanduser()
    if target.is_dir():
        return target / file_name
    if out.endswith("/") or not is_only:
        raise RequestError(
            f"There is no folder {out}",
            hint="make it first" if is_only else "several runs need a folder that exists",
        )
    return target


def import_runs(arguments: argparse.Namespace) -> int:
    def take_in(client: TrainerClient, file: str) -> None:
        record = client.import_run(Path(file).expanduser(), max_bytes)
        say(f"imported {printable(record.run_name)} ({record.run_id})")
        # The last line of its history says what could not be taken over.
        for note in record.transitions[-1].reason.split("; ")[1:]:
            say(paint(f"  note: {printable(note)}", "dim"))

    max_bytes = parse_size(arguments.max_size, "--max-size") if arguments.max_size else 0
    with open_client(arguments) as client:
        return for_each(client, arguments.files, take_in)
