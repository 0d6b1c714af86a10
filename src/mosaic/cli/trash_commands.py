"""`mosaic delete`, `restore` and `trash`: what was deleted can be had back for a while."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mosaic.cli.control_commands import for_each_run
from mosaic.cli.session import open_client
from mosaic.cli.terminal import confirmed, paint, printable, say, say_json, say_table
from mosaic.contracts.run_reference import LATEST, is_seed_of, named_so
from mosaic.errors import ConsentError, CorruptStoreError, RequestError, UnknownRunError
from mosaic.front.human import age, amount, size
from mosaic.front.run_reference import GROUP_HELP

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.keeping import TrashedRun

TRASH_HELP = "as elsewhere, but of a run in the trash"


def add(commands: Any) -> None:
    delete = commands.add_parser("delete", help="move runs that are over to the trash")
    delete.add_argument("runs", nargs="+", metavar="RUN", help=GROUP_HELP)
    delete.add_argument("--for-good", action="store_true", help="not to the trash: no way back")
    delete.add_argument("--yes", action="store_true", help="with --for-good: do not ask")
    delete.set_defaults(handler=delete_runs)

    restore = commands.add_parser("restore", help="bring deleted runs back from the trash")
    restore.add_argument("runs", nargs="+", metavar="RUN", help=TRASH_HELP)
    restore.set_defaults(handler=restore_runs)

    trash = commands.add_parser("trash", help="what was deleted and can be restored")
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
        for run in _chosen(client.trash(), arguments.runs):
            record = client.restore_run(run.run_id)
            say(f"restored {printable(record.run_name)} ({record.run_id})")
    return 0


def show_trash(arguments: argparse.Namespace) -> int:
    if arguments.runs and not arguments.empty:
        raise RequestError("`mosaic trash RUN` does nothing", hint="say --empty RUN, or no RUN")
    with open_client(arguments) as client:
        runs = client.trash()
        if arguments.empty:
            return _empty(client, arguments, runs)
    if arguments.json:
        say_json([asdict(run) for run in runs])
    elif not runs:
        say("the trash is empty")
    else:
        rows = [
            (run.run_id, run.run_name, size(run.bytes), age(run.deleted_at), run.reason)
            for run in runs
        ]
        say_table(("RUN", "NAME", "SIZE", "DELETED", "WHY"), rows, flexible=1)
        total = size(sum(run.bytes for run in runs))
        say(paint(f"{total} in all; `mosaic trash --empty` frees it", "dim"))
    return 0


def _empty(client: TrainerClient, arguments: argparse.Namespace, runs: list[TrashedRun]) -> int:
    chosen = _chosen(runs, arguments.runs) or runs
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


def _chosen(runs: list[TrashedRun], texts: Sequence[str]) -> list[TrashedRun]:
    """Each once, all of them found before anything is done."""
    found = [run for text in texts for run in choose_trashed(runs, text)]
    return list(dict.fromkeys(found))


def choose_trashed(runs: list[TrashedRun], text: str) -> list[TrashedRun]:
    """What is meant of the trash; `latest` is what was deleted last. What is left of a group is the
    name its runs share but for their seed."""
    if text.lower() in LATEST and runs:
        return runs[:1]
    matches = named_so(runs, text)
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
