"""`mosaic runs` and `mosaic show`: what runs there are, and all about one of them."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from mosaic.cli.shared.argument_types import natural
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import (
    is_terminal,
    paint,
    printable,
    say,
    say_json,
    say_table,
    say_to_stderr,
)
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.contracts.run_reference import is_in_group
from mosaic.contracts.run_settings import Setting, setting_text
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.front.human import age, count, decimal, duration
from mosaic.front.references import GROUP_HELP, resolve_runs

DEFAULT_LIMIT = 20
SHORT_ID = 8


def add(commands: Any) -> None:
    runs = commands.add_parser("runs", help="list runs, newest first")
    runs.add_argument(
        "--state",
        action="append",
        type=str.upper,
        choices=[state.value for state in RunState],
        default=[],
        help="only runs in this state (repeatable)",
    )
    runs.add_argument(
        "--outcome",
        action="append",
        choices=[outcome.value for outcome in Outcome],
        default=[],
        help="only runs that ended so (repeatable)",
    )
    runs.add_argument(
        "--origin",
        action="append",
        choices=[origin.value for origin in Origin],
        default=[],
        help="only runs that come from there (repeatable)",
    )
    runs.add_argument("--group", metavar="NAME", help="only runs of this group")
    runs.add_argument(
        "--tag",
        action="append",
        metavar="TAG",
        default=[],
        help="only runs with this tag (repeatable: with all of them)",
    )
    runs.add_argument(
        "--show",
        action="append",
        metavar="SETTING",
        default=[],
        help="a column for this setting of the configs, such as learning_rate (repeatable)",
    )
    runs.add_argument(
        "--contains", default="", metavar="TEXT", help="in name, tags, note, worker or env"
    )
    amount = runs.add_mutually_exclusive_group()
    amount.add_argument(
        "--limit", metavar="N", type=natural, default=DEFAULT_LIMIT, help="how many (default 20)"
    )
    amount.add_argument("--all", action="store_true", help="no limit")
    runs.add_argument("--json", action="store_true", help="machine-readable output")
    runs.set_defaults(handler=list_runs)

    show = commands.add_parser(
        "show",
        help="everything about a run, or the runs of a group",
        description=(
            "Shows everything about a run: progress, failure with the last lines of standard "
            "error, files, history. Of a group: its runs."
        ),
    )
    show.add_argument("run", metavar="RUN", help=GROUP_HELP)
    show.add_argument("--json", action="store_true", help="machine-readable output")
    show.set_defaults(handler=show_run)


def list_runs(arguments: argparse.Namespace) -> int:
    limit = 0 if arguments.all else max(1, arguments.limit)
    with open_client(arguments) as client:
        # One more than shown tells whether there are more.
        is_narrowed = arguments.group is not None or arguments.origin or arguments.tag
        is_part = limit and not is_narrowed
        found = client.list_runs(
            arguments.state, arguments.outcome, arguments.contains, limit + 1 if is_part else 0
        )
        found = [record for record in found if _is_wanted(arguments, record)]
        records = found[:limit] if limit else found
        settings = client.settings(run.run_id for run in records) if arguments.show else {}
        alarms = client.health().alarms
    if arguments.json:
        say_json([record.to_dict() for record in records])
    elif records:
        say_runs(records, arguments.show, settings)
    else:
        say("no runs")
    if len(found) > len(records) and not arguments.json:
        say(paint(f"the newest {limit}; --all lists every run", "dim"))
    # A list from which a run is missing must not look complete.
    for alarm in alarms:
        say_to_stderr(f"{paint('alarm:', 'red', sys.stderr)} {printable(alarm)}")
    return 0


def _is_wanted(arguments: argparse.Namespace, record: RunRecord) -> bool:
    return (
        (arguments.group is None or is_in_group(record, arguments.group))
        and (not arguments.origin or record.origin in arguments.origin)
        and set(arguments.tag) <= set(record.tags)
    )


def say_runs(
    records: list[RunRecord],
    names: Sequence[str] = (),
    settings: Mapping[str, Mapping[str, Setting]] | None = None,
) -> None:
    """With a column for each of these settings."""
    from mosaic.cli.shared.run_view import state_colour
    from mosaic.front.run_words import state_word

    is_short = is_terminal(sys.stdout)
    # A column of its own only where it says something.
    has_origin = any(record.origin is not Origin.HERE for record in records)
    has_tags = any(record.tags for record in records)
    rows = [
        (
            record.run_id[-SHORT_ID:] if is_short else record.run_id,
            record.run_name,
            record.worker,
            state_word(record) + _reason(record),
            _progress(record),
            _mean_return(record),
            _took(record),
            age(record.created_at),
            *(_setting(name, (settings or {}).get(record.run_id, {})) for name in names),
            *((", ".join(record.tags),) if has_tags else ()),
            *((record.origin.value,) if has_origin else ()),
        )
        for record in records
    ]
    header = (
        "RUN",
        "NAME",
        "WORKER",
        "STATE",
        "STEPS",
        "MEAN RETURN",
        "TIME",
        "SUBMITTED",
        *(name.upper() for name in names),
        *(("TAGS",) if has_tags else ()),
        *(("ORIGIN",) if has_origin else ()),
    )
    say_table(
        header,
        rows,
        [state_colour(record) for record in records],
        flexible=1,
    )


def _setting(name: str, settings: Mapping[str, Setting]) -> str:
    return setting_text(settings[name]) if name in settings else "-"


def _reason(record: RunRecord) -> str:
    return f" ({record.failure_reason})" if record.outcome is Outcome.FAILED else ""


def _progress(record: RunRecord) -> str:
    fraction = record.progress.fraction
    share = f" {fraction:.0%}" if fraction is not None and not record.is_over else ""
    return count(record.progress.steps) + share if record.progress.steps else "-"


def _mean_return(record: RunRecord) -> str:
    mean = record.progress.mean_return
    return "-" if mean is None else decimal(mean)


def _took(record: RunRecord) -> str:
    from mosaic.front.run_words import elapsed_s

    elapsed = elapsed_s(record)
    return "-" if elapsed is None else duration(elapsed)


def show_run(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.run_view import say_run

    with open_client(arguments) as client:
        records = [client.get_run(run_id) for run_id in resolve_runs(client, [arguments.run])]
    if len(records) > 1:
        if arguments.json:
            say_json([record.to_dict() for record in records])
        else:
            say_runs(records)
            say(paint("a group; `mosaic show` with one of its runs tells everything", "dim"))
    elif arguments.json:
        say_json(records[0].to_dict())
    else:
        say_run(records[0])
    return 0
