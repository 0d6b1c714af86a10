"""`mosaic logs` and `mosaic events`: what a run says."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mosaic.cli.numbers import natural
from mosaic.cli.session import open_client
from mosaic.cli.terminal import has_colour, printable_json
from mosaic.contracts.events import EventType
from mosaic.errors import RequestError
from mosaic.front.run_reference import HELP, resolve_run

if TYPE_CHECKING:
    from mosaic.wire.answers import LogChunk


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
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.runs[0])
        chunks = client.stream_log(run_id, arguments.stream, arguments.tail, arguments.follow)
        # Whoever searches or stores a log gets its bytes; a terminal would obey them.
        show = _show_on_terminal if sys.stdout.isatty() else _pass_on
        show(chunks)
    return 0


def _pass_on(chunks: Iterable[LogChunk]) -> None:
    for chunk in chunks:
        sys.stdout.buffer.write(chunk.data)
        sys.stdout.buffer.flush()


def _show_on_terminal(chunks: Iterable[LogChunk]) -> None:
    from mosaic.cli.log_on_terminal import LogOnTerminal

    columns, is_coloured = shutil.get_terminal_size().columns, has_colour(sys.stdout)
    outputs: dict[str, LogOnTerminal] = {}
    try:
        for chunk in chunks:
            if chunk.stream not in outputs:
                outputs[chunk.stream] = LogOnTerminal(columns, is_coloured)
            sys.stdout.write(outputs[chunk.stream].feed(chunk.data))
            sys.stdout.flush()
    finally:
        for output in outputs.values():
            sys.stdout.write(output.end())
        sys.stdout.flush()


def show_events(arguments: argparse.Namespace) -> int:
    is_terminal = sys.stdout.isatty()
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.run)
        for batch in client.stream_events(run_id, 0, arguments.type, arguments.follow):
            lines = [line.rstrip(b"\n") for line in batch.lines]
            if is_terminal:
                for line in lines:
                    print(printable_json(line.decode(errors="replace")))
                sys.stdout.flush()
            else:
                sys.stdout.buffer.write(b"".join(line + b"\n" for line in lines))
                sys.stdout.buffer.flush()
    return 0
