"""What becomes of runs that are over: trash, pins, cleaning up, archives.

The commands are `mosaic delete`, `restore`, `trash`, `pin`, `unpin`, `clean`, `archive` and
`import`.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.commands.control import find_each, for_each, for_each_run
from mosaic.cli.shared.argument_types import natural, number_between
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import confirmed, paint, printable, say, say_json, say_table
from mosaic.contracts.keeping import RetentionPolicy, parse_size
from mosaic.contracts.run_reference import LATEST, is_seed_of, matching_runs
from mosaic.errors import ConsentError, CorruptStoreError, RequestError, UnknownRunError
from mosaic.front.human import age, amount, size
from mosaic.front.references import GROUP_HELP
from mosaic.front.run_words import goes_words

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.keeping import RetentionResult, TrashedRun

TRASH_HELP = "as elsewhere, but of a run in the trash"


def add_trash(commands: Any) -> None:
    delete = commands.add_parser(
        "delete",
        help="move runs that are over to the trash",
        description=(
            "Moves runs that are over to the trash. With --for-good they are gone at once; that "
            "asks first, and without a terminal --yes is required."
        ),
    )
    delete.add_argument("runs", nargs="+", metavar="RUN", help=GROUP_HELP)
    delete.add_argument("--for-good", action="store_true", help="not to the trash: no way back")
    delete.add_argument("--yes", action="store_true", help="with --for-good: do not ask")
    delete.set_defaults(handler=delete_runs)

    restore = commands.add_parser("restore", help="bring deleted runs back from the trash")
    restore.add_argument("runs", nargs="+", metavar="RUN", help=TRASH_HELP)
    restore.set_defaults(handler=restore_runs)

    trash = commands.add_parser(
        "trash",
        help="what was deleted and can be restored",
        description="Lists what was deleted and can be restored; --empty deletes it for good.",
    )
    trash.add_argument("--empty", action="store_true", help="delete for good what is in it")
    trash.add_argument("runs", nargs="*", metavar="RUN", help="with --empty: only these")
    trash.add_argument("--yes", action="store_true", help="with --empty: do not ask")
    trash.add_argument("--json", action="store_true", help="machine-readable output")
    trash.set_defaults(handler=show_trash)


def delete_runs(arguments: argparse.Namespace) -> int:
    def delete(client: TrainerClient, run_id: str) -> None:
        name = _name_of(client, run_id, arguments.for_good)
        if not arguments.for_good:
            done = client.delete_run(run_id)
            say(f"moved {name} ({run_id}) to the trash, {size(done.freed_bytes)}")
            say(paint(f"  undo: mosaic restore {run_id}", "dim"))
            return
        if not arguments.yes and not confirmed(f"Delete {name} ({run_id}) and all its files?"):
            raise ConsentError(f"{name} was not deleted", hint="answer y, or pass --yes")
        done = client.delete_run(run_id, for_good=True)
        say(f"deleted {name} ({run_id}), {size(done.freed_bytes)} freed")

    if arguments.for_good and not arguments.yes and not sys.stdin.isatty():
        raise ConsentError("Deleting runs for good needs a confirmation", hint="pass --yes")
    with open_client(arguments) as client:
        return for_each_run(client, arguments.runs, delete)


def _name_of(client: TrainerClient, run_id: str, for_good: bool) -> str:
    try:
        return printable(client.get_run(run_id).run_name)
    except (UnknownRunError, CorruptStoreError):
        if not for_good:
            raise
        return "what is stored of a run"  # set aside, so that nobody knows its name


def restore_runs(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        for run in _chosen_of_trash(client.trash(), arguments.runs):
            record = client.restore_run(run.run_id)
            say(f"restored {printable(record.run_name)} ({record.run_id})")
    return 0


def show_trash(arguments: argparse.Namespace) -> int:
    if arguments.runs and not arguments.empty:
        raise RequestError("`mosaic trash RUN` does nothing", hint="say --empty RUN, or no RUN")
    with open_client(arguments) as client:
        runs = client.trash()
        if arguments.empty:
            return _empty_trash(client, arguments, runs)
    if arguments.json:
        say_json([asdict(run) for run in runs])
    elif not runs:
        say("the trash is empty")
    else:
        rows = [
            (
                *(run.run_id, run.run_name, size(run.bytes), age(run.deleted_at)),
                *(goes_words(run.goes_at), run.reason),
            )
            for run in runs
        ]
        say_table(("RUN", "NAME", "SIZE", "DELETED", "GOES FOR GOOD", "WHY"), rows, flexible=1)
        total = size(sum(run.bytes for run in runs))
        say(paint(f"{total} in all; `mosaic trash --empty` frees it", "dim"))
    return 0


def _empty_trash(
    client: TrainerClient, arguments: argparse.Namespace, runs: list[TrashedRun]
) -> int:
    chosen = _chosen_of_trash(runs, arguments.runs) or runs
    if chosen and not arguments.yes:
        if not sys.stdin.isatty():
            raise ConsentError("Emptying the trash needs a confirmation", hint="pass --yes")
        total = size(sum(run.bytes for run in chosen))
        if not confirmed(f"Delete {amount(len(chosen), 'run')} ({total}) for good?"):
            raise ConsentError("The trash was not emptied", hint="answer y, or pass --yes")
    freed, count = client.empty_trash([run.run_id for run in chosen]) if chosen else (0, 0)
    if arguments.json:
        say_json({"runs": count, "freed_bytes": freed})
    else:
        say(f"{amount(count, 'run')} deleted for good, {size(freed)} freed")
    return 0


def _chosen_of_trash(runs: list[TrashedRun], texts: Sequence[str]) -> list[TrashedRun]:
    """Each once, all of them found before anything is done."""
    found = [run for text in texts for run in choose_trashed(runs, text)]
    return list(dict.fromkeys(found))


def choose_trashed(runs: list[TrashedRun], text: str) -> list[TrashedRun]:
    """What is meant of the trash; `latest` is what was deleted last. What is left of a group is the
    name its runs share but for their seed."""
    if text.lower() in LATEST and runs:
        return runs[:1]
    matches = matching_runs(runs, text)
    if len(matches) > 1:
        raise RequestError(
            f"{text[:80]!r} could be {len(matches)} runs: "
            + ", ".join(run.run_id for run in matches),
            hint="give more of the id",
        )
    if found := matches or [run for run in runs if is_seed_of(run, text)]:
        return found
    raise UnknownRunError(
        f"There is no run {text[:80]!r} in the trash", hint="`mosaic trash` lists what is there"
    )


def add_pin_and_clean(commands: Any) -> None:
    for name, text, is_pinned in (
        ("pin", "never let `clean` choose these runs", True),
        ("unpin", "let `clean` choose these runs again", False),
    ):
        parser = commands.add_parser(name, help=text)
        parser.add_argument("runs", nargs="+", metavar="RUN", help=GROUP_HELP)
        parser.set_defaults(handler=pin_runs, is_pinned=is_pinned)

    clean = commands.add_parser(
        "clean",
        help="move runs nobody needs to the trash, by rules",
        description="Lists the runs that the rules choose, asks, and moves them to the trash.",
    )
    clean.add_argument(
        "--max-age", type=number_between(0, 1e6), metavar="DAYS", help="runs that ended before go"
    )
    clean.add_argument("--max-size", metavar="SIZE", help="the oldest go until all fit (20GB)")
    clean.add_argument("--keep-last", type=natural, metavar="N", help="the last N never go")
    clean.add_argument(
        "--keep-best", type=natural, metavar="N", help="nor the best N per environment and worker"
    )
    clean.add_argument("--yes", action="store_true", help="do not ask")
    clean.add_argument("--dry-run", action="store_true", help="only list what would go")
    clean.add_argument("--json", action="store_true", help="machine-readable output")
    clean.set_defaults(handler=clean_up)


def pin_runs(arguments: argparse.Namespace) -> int:
    def pin(client: TrainerClient, run_id: str) -> None:
        record = client.pin_run(run_id, arguments.is_pinned)
        say(f"{'' if record.pinned else 'un'}pinned {printable(record.run_name)} ({run_id})")

    with open_client(arguments) as client:
        return for_each_run(client, arguments.runs, pin)


def clean_up(arguments: argparse.Namespace) -> int:
    limit = arguments.max_size
    policy = RetentionPolicy(
        max_age_days=arguments.max_age,
        max_total_bytes=None if limit is None else parse_size(limit, "--max-size"),
        keep_last=_checked_count(arguments.keep_last, "--keep-last"),
        keep_best=_checked_count(arguments.keep_best, "--keep-best"),
    )
    if policy == RetentionPolicy():
        raise RequestError(
            "`mosaic clean` needs a rule",
            hint="say --max-age, --max-size, --keep-last or --keep-best",
        )
    with open_client(arguments) as client:
        result = client.apply_retention(policy, dry_run=True)
        if not arguments.json:
            say_choices(result)
        if result.deleted and not arguments.dry_run:
            _ask_before_cleaning(arguments, result)
            result = client.apply_retention(policy, dry_run=False)
            if not arguments.json:
                say(f"moved {amount(len(result.deleted), 'run')} to the trash")
                say(
                    paint(
                        "  undo: mosaic restore RUN; to free the space: mosaic trash --empty", "dim"
                    )
                )
    if arguments.json:
        say_json({**asdict(result), "dry_run": arguments.dry_run})
    return 0


def say_choices(result: RetentionResult) -> None:
    left = f"{amount(result.kept, 'run')} stay, {size(result.kept_bytes)}"
    if not result.deleted:
        say(f"nothing to clean up; {left}")
        return
    rows = [
        (item.run_id, item.run_name, size(item.bytes), age(item.finished_at), item.reason)
        for item in result.deleted
    ]
    say_table(("RUN", "NAME", "SIZE", "ENDED", "WHY"), rows, flexible=1)
    total = size(sum(item.bytes for item in result.deleted))
    say(f"{amount(len(rows), 'run')}, {total} would go; {left}")


def _ask_before_cleaning(arguments: argparse.Namespace, result: RetentionResult) -> None:
    if arguments.yes:
        return
    if not sys.stdin.isatty():
        raise ConsentError("Cleaning up needs a confirmation", hint="pass --yes")
    if not confirmed(f"Move {amount(len(result.deleted), 'run')} to the trash?"):
        raise ConsentError("Nothing was deleted", hint="answer y, or pass --yes")


def _checked_count(value: int | None, option: str) -> int | None:
    if value is not None and not 0 <= value < 2**32:
        raise RequestError(f"{option} is {value}", hint="give a number of runs, 0 or more")
    return value


ARCHIVE_SUFFIX = ".mosaic.zip"


def add_archive_and_import(commands: Any) -> None:
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

    file_name = f"{label(name).strip('-.') or 'run'}-{run_id}{ARCHIVE_SUFFIX}"
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
