"""`mosaic metrics`: which metrics a run has, and the curves of some of them."""

from __future__ import annotations

import argparse
import difflib
import fnmatch
import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from mosaic.cli.shared.argument_types import natural
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import paint, printable, say, say_json, say_table
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.errors import RequestError
from mosaic.front.human import age, amount, count, decimal
from mosaic.front.references import HELP, resolve_run

DEFAULT_POINTS = 10
SPARKLINE_WIDTH = 60


def add(commands: Any) -> None:
    metrics = commands.add_parser(
        "metrics",
        help="metrics of a run, and their curves",
        description=(
            "Shows the metrics of a run with their latest values; with names or patterns, their "
            "curves."
        ),
    )
    metrics.add_argument("run", metavar="RUN", help=HELP)
    metrics.add_argument(
        "names",
        metavar="NAME",
        nargs="*",
        help="show these curves; patterns such as 'losses/*' work. Without any: list the metrics",
    )
    metrics.add_argument(
        "--points",
        type=natural,
        metavar="N",
        default=DEFAULT_POINTS,
        help=f"rows per curve (default {DEFAULT_POINTS}, 0: every point)",
    )
    metrics.add_argument("--json", action="store_true", help="machine-readable output")
    metrics.set_defaults(handler=show_metrics)


def show_metrics(arguments: argparse.Namespace) -> int:
    with open_client(arguments) as client:
        run_id = resolve_run(client, arguments.run)
        known = client.metrics(run_id)
        if not arguments.names:
            _show_list(known, arguments.json)
            return 0
        names = choose_names([info.name for info in known], arguments.names)
        curves = client.series(run_id, names, buckets=arguments.points)
        if arguments.json:
            say_json([asdict(curve) for curve in curves])
            return 0
        outlines = client.series(run_id, names, buckets=SPARKLINE_WIDTH)
    for number, (curve, outline) in enumerate(zip(curves, outlines, strict=True)):
        if number:
            say()
        _show_curve(curve, outline)
    return 0


def choose_names(known: Sequence[str], wanted: Sequence[str]) -> list[str]:
    """Names that are meant, each once; a pattern may mean several."""
    chosen: dict[str, None] = {}
    for text in wanted:
        found = [text] if text in known else fnmatch.filter(known, text)
        if not found:
            near = difflib.get_close_matches(text, known[:1000], n=3)
            raise RequestError(
                f"The run has no metric {text[:80]!r}",
                hint=f"did you mean {', '.join(near)}?" if near else "leave NAME out to list them",
            )
        chosen |= dict.fromkeys(found)
    return list(chosen)


def _show_list(known: Sequence[MetricInfo], as_json: bool) -> None:
    if as_json:
        say_json([asdict(info) for info in known])
    elif not known:
        say("no metrics")
    else:
        rows = [
            (
                info.name,
                count(info.points),
                _steps(info.first_step, info.last_step),
                decimal(info.last_value),
            )
            for info in known
        ]
        say_table(("METRIC", "POINTS", "STEPS", "LAST"), rows)


def _show_curve(curve: MetricSeries, outline: MetricSeries) -> None:
    say(f"{paint(printable(curve.name), 'bold')}  {amount(curve.points, 'point')}")
    say(sparkline(outline.means))
    if set(curve.counts) == {1}:
        rows = [
            (count(step), decimal(value), age(at))
            for step, value, at in zip(
                curve.first_steps, curve.means, curve.timestamps, strict=True
            )
        ]
        say_table(("STEP", "VALUE", "WHEN"), rows)
        return
    buckets = zip(
        *(curve.first_steps, curve.last_steps, curve.means, curve.lows, curve.highs, curve.counts),
        strict=True,
    )
    rows_of_buckets = [
        (_steps(first, last), decimal(mean), decimal(low), decimal(high), count(points))
        for first, last, mean, low, high, points in buckets
    ]
    say_table(("STEPS", "MEAN", "LOW", "HIGH", "POINTS"), rows_of_buckets)


def _steps(first: int, last: int) -> str:
    return count(first) if first == last else f"{count(first)} to {count(last)}"


_BARS = "▁▂▃▄▅▆▇█"
_GAP = "·"  # where there is no finite value


def sparkline(values: Sequence[float]) -> str:
    """One character per value; the lowest is the smallest bar and the highest the largest."""
    finite = [value for value in values if math.isfinite(value)]
    if not finite:
        return _GAP * len(values)
    # Halved, so that the distance between the largest numbers is no infinity.
    low, high = min(finite) / 2, max(finite) / 2
    span = high - low

    def bar(value: float) -> str:
        if not math.isfinite(value):
            return _GAP
        share = (value / 2 - low) / span if span else 0.5
        return _BARS[min(int(share * len(_BARS)), len(_BARS) - 1)]

    return "".join(map(bar, values))
