"""`mosaic logs` and `mosaic events`: what a run says."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from mosaic.cli.numbers import natural
from mosaic.cli.session import open_client
from mosaic.contracts.events import EventType
from mosaic.errors import RequestError
from mosaic.front.run_reference import HELP, resolve_run


def add(commands: Any) -> None:
    logs = commands.add_parser("logs", help="output of a run's worker")
    logs.add_argument(
        "runs", metavar="RUN", nargs="*", help=f"{HELP}; with --search any number, none means all"
    )
    logs.add_argument("-f", "--follow", action="store_true", help="stay until the run is over")
    which = logs.add_mutually_exclusive_group()
    which.add_argument("--stdout", dest="stream", action="store_const", const="stdout", default="")
    which.add_argument("--stderr", dest="stream", action="store_const", const="stderr")
    logs.add_argument("--tail", type=natural, default=0, metavar="N", help="last N lines only")
    logs.add_argument("--search", metavar="TEXT", help="only lines with this text, of any runs")
    logs.add_argument("--regex", action="store_true", help="TEXT is a regular expression")
    logs.add_argument("-i", "--ignore-case", action="store_true", help="with --search")
    logs.add_argument(
        "--limit", type=natural, default=1000, metavar="N", help="with --search (default 1000)"
    )
    logs.add_argument("--json", action="store_true", help="with --search: JSON lines")
    logs.set_defaults(handler=show_logs)

    events = commands.add_parser("events", help="events of a run, as JSON lines")
    events.add_argument("run", metavar="RUN", help=HELP)
    events.add_argument("-f", "--follow", action="store_true", help="stay until the run is over")
    events.add_argument(
        "--type",
        action="append",
        default=[],
        choices=[kind.value for kind in EventType],
        metavar="TYPE",
        help=f"only this type (repeatable): {', '.join(EventType)}",
    )
    events.set_defaults(handler=show_events)


def show_logs(arguments: argparse.Namespace) -> int:
    if arguments.search is not None:
        from mosaic.cli.log_search import search_logs

        return search_logs(arguments)
    if arguments.regex or arguments.ignore_case or arguments.json:
        raise RequestError("--regex, --ignore-case and --json go with --search TEXT")
    if len(arguments.runs) != 1:
        raise RequestError("Name one run", hint="only --search takes several, or none for all")
    out = sys.stdout.buffer
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.runs[0])
        chunks = client.stream_log(run_id, arguments.stream, arguments.tail, arguments.follow)
        for chunk in chunks:
            out.write(chunk.data)
            out.flush()
    return 0


def show_events(arguments: argparse.Namespace) -> int:
    out = sys.stdout.buffer
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.run)
        for batch in client.stream_events(run_id, 0, arguments.type, arguments.follow):
            out.write(b"".join(line.rstrip(b"\n") + b"\n" for line in batch.lines))
            out.flush()
    return 0
