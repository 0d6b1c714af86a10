"""`mosaic pin`, `unpin` and `clean`: which runs stay, and which go to the trash."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from mosaic.cli.control_commands import for_each_run
from mosaic.cli.numbers import natural, number_between
from mosaic.cli.session import open_client
from mosaic.cli.terminal import confirmed, paint, printable, say, say_json, say_table
from mosaic.errors import ConsentError, RequestError
from mosaic.front.human import age, amount, size
from mosaic.front.run_reference import GROUP_HELP

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.keeping import RetentionResult


def add(commands: Any) -> None:
    for name, text, is_pinned in (
        ("pin", "never let `clean` choose these runs", True),
        ("unpin", "let `clean` choose these runs again", False),
    ):
        parser = commands.add_parser(name, help=text)
        parser.add_argument("runs", nargs="+", metavar="RUN", help=GROUP_HELP)
        parser.set_defaults(handler=pin_runs, is_pinned=is_pinned)

    clean = commands.add_parser("clean", help="move runs nobody needs to the trash, by rules")
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
    from mosaic.contracts.keeping import RetentionPolicy, parse_size

    limit = arguments.max_size
    policy = RetentionPolicy(
        max_age_days=arguments.max_age,
        max_total_bytes=None if limit is None else parse_size(limit, "--max-size"),
        keep_last=_count(arguments.keep_last, "--keep-last"),
        keep_best=_count(arguments.keep_best, "--keep-best"),
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
            _ask(arguments, result)
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


def _ask(arguments: argparse.Namespace, result: RetentionResult) -> None:
    if arguments.yes:
        return
    if not sys.stdin.isatty():
        raise ConsentError("Cleaning up needs a confirmation", hint="pass --yes")
    if not confirmed(f"Move {amount(len(result.deleted), 'run')} to the trash?"):
        raise ConsentError("Nothing was deleted", hint="answer y, or pass --yes")


def _count(value: int | None, option: str) -> int | None:
    if value is not None and not 0 <= value < 2**32:
        raise RequestError(f"{option} is {value}", hint="give a number of runs, 0 or more")
    return value
