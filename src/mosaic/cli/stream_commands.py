"""`mosaic logs`, `mosaic events` and `mosaic metrics`: what a run says."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from typing import Any

from mosaic.cli.human import age, count, decimal
from mosaic.cli.run_reference import HELP, resolve_run
from mosaic.cli.session import open_client
from mosaic.cli.terminal import say, say_json, say_table
from mosaic.contracts.events import EventType


def add(commands: Any) -> None:
    logs = commands.add_parser("logs", help="output of a run's worker")
    logs.add_argument("run", metavar="RUN", help=HELP)
    logs.add_argument("-f", "--follow", action="store_true", help="stay until the run is over")
    which = logs.add_mutually_exclusive_group()
    which.add_argument("--stdout", dest="stream", action="store_const", const="stdout", default="")
    which.add_argument("--stderr", dest="stream", action="store_const", const="stderr")
    logs.add_argument("--tail", type=_natural, default=0, metavar="N", help="last N lines only")
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

    metrics = commands.add_parser("metrics", help="latest metrics of a run")
    metrics.add_argument("run", metavar="RUN", help=HELP)
    metrics.add_argument("--count", type=_natural, default=20, help="how many (default 20)")
    metrics.add_argument(
        "--name", action="append", default=[], help="only this metric (repeatable)"
    )
    metrics.add_argument("--json", action="store_true", help="machine-readable output")
    metrics.set_defaults(handler=show_metrics)


def _natural(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError(text)
    return value


def show_logs(arguments: argparse.Namespace) -> int:
    out = sys.stdout.buffer
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.run)
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


def show_metrics(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.run)
        points = client.recent_metrics(run_id, arguments.count, arguments.name)
    if arguments.json:
        say_json([asdict(point) for point in points])
    elif not points:
        say("no metrics")
    else:
        rows = [
            (count(point.step), point.name, decimal(point.value), age(point.timestamp))
            for point in points
        ]
        say_table(("STEP", "METRIC", "VALUE", "WHEN"), rows, flexible=1)
    return 0
