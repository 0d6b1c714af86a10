"""`mosaic compare RUN...|GROUP...`: curves over seeds, verdicts, config differences, a report."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import positive
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import paint, printable, say, say_json, say_table
from mosaic.errors import RequestError
from mosaic.front.human import amount, count, decimal, moment

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.compare.comparison import Comparison
    from mosaic.compare.groups import RunGroup
    from mosaic.compare.statistics import Estimate


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "compare",
        help="compare groups of runs over their seeds",
        description="Curves over seeds, what can be told apart, and how the configs differ.",
    )
    parser.add_argument(
        "what",
        metavar="RUN|GROUP|LABEL=RUN,RUN,...",
        nargs="+",
        help="runs, groups of `mosaic train --seeds`, beginnings of run names, or your own groups; "
        "runs that differ only in their seed find together by themselves",
    )
    parser.add_argument("--metric", metavar="NAME", help="default: the episodic return")
    parser.add_argument(
        "--last", type=positive, metavar="N", help="final performance: so many values; default: 100"
    )
    parser.add_argument(
        "--lower-is-better", action="store_true", help="the metric is one to be small, like a loss"
    )
    parser.add_argument("--out", metavar="FILE", help="write a report, one HTML file")
    parser.add_argument("--png", metavar="FILE", help="write the plots as a picture")
    parser.add_argument(
        "--reference",
        action="store_true",
        help="also say where no published value can be compared with, and why",
    )
    parser.add_argument("--equal", action="store_true", help="list the equal parameters, too")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.set_defaults(handler=compare_runs)


def compare_runs(arguments: argparse.Namespace) -> int:
    from mosaic.compare.requirements import require_packages

    require_packages()
    from mosaic.compare.building import build_comparison, title_of

    files = [_writable(text) for text in (arguments.out, arguments.png) if text]
    if len(set(files)) < len(files):
        raise RequestError("--out and --png name the same file", field="png")
    with open_client(arguments) as client:
        groups = find_groups(client, arguments.what)
        comparison = build_comparison(
            client,
            groups,
            metric=arguments.metric,
            last=arguments.last,
            is_lower_better=arguments.lower_is_better,
            tells_unchecked=arguments.reference,
        )
    title = title_of(comparison)
    if arguments.out:
        from mosaic import __version__
        from mosaic.compare.report import html_report

        page = html_report(comparison, title, moment(time.time()), __version__)
        _write(Path(arguments.out), page.encode())
    if arguments.png:
        from mosaic.compare.charts import overview_png

        _write(Path(arguments.png), overview_png(comparison, title, comparison.headlines()))
    if arguments.json:
        say_json(comparison.to_dict())
        return 0
    say_comparison(comparison, shows_equal=arguments.equal)
    for path in (arguments.out, arguments.png):
        if path:
            say(f"Written: {path}")
    return 0


def find_groups(client: TrainerClient, words: Sequence[str]) -> list[RunGroup]:
    from mosaic.compare.groups import form_groups, missing_ancestors, select

    known = client.list_runs(limit=0)
    selections = [select(word, known) for word in words]
    run_ids = dict.fromkeys(run_id for found in selections for run_id in found.run_ids)
    records = {run_id: client.get_run(run_id) for run_id in run_ids}
    missing = missing_ancestors(records, {run.run_id: run for run in known})
    records |= {run_id: client.get_run(run_id) for run_id in missing}
    return form_groups(selections, records)


def _writable(text: str) -> Path:
    """Found out before the work is done, not after."""
    path = Path(text).expanduser().absolute()
    if path.is_dir() or not path.parent.is_dir():
        problem = "is a folder" if path.is_dir() else f"has no folder: {path.parent} does not exist"
        raise RequestError(f"{text} {problem}", hint="give the path of a file")
    return path


def _write(path: Path, data: bytes) -> None:
    from mosaic.files import atomic_write

    try:
        atomic_write(path.expanduser().absolute(), data, mode=0o644)
    except OSError as error:
        raise RequestError(
            f"{path} cannot be written: {error.strerror}", hint="choose another place"
        ) from error


_MOST_VALUE = 40


def say_comparison(comparison: Comparison, shows_equal: bool = False) -> None:
    from mosaic.compare.published import BELOW, UNCHECKED

    question = comparison.question
    say(
        paint(
            printable(
                f"{question.metric} on {comparison.environment or 'an unknown environment'}, "
                f"up to step {count(int(comparison.grid[-1]))}"
            ),
            "bold",
        )
    )
    say()
    for line in comparison.headlines():
        say(printable(line))
    for check in comparison.checks:
        colour = {BELOW: "red", UNCHECKED: "dim"}.get(check.verdict, "green")
        say(paint(printable(check.sentence), colour))
    for warning in comparison.warnings:
        say(paint(printable(f"note: {warning}"), "yellow"))
    if comparison.pairs or comparison.checks or comparison.warnings:
        say()
    _say_groups(comparison)
    _say_differences(comparison, shows_equal)


def _say_groups(comparison: Comparison) -> None:
    say(
        f"Final performance: mean of the last {comparison.question.last} "
        f"{comparison.question.unit}s of each seed; 95 % intervals over seeds"
    )
    say_table(
        ("GROUP", "SEEDS", "IQM", "INTERVAL", "MEAN ± SD", "MEDIAN", "WHILE TRAINING", "STEPS"),
        [
            (
                group.label,
                str(group.seeds),
                decimal(group.final.iqm.value),
                _interval(group.final.iqm),
                f"{decimal(group.final.mean.value)} ± {decimal(group.final.deviation)}"
                if group.final.deviation is not None
                else decimal(group.final.mean.value),
                decimal(group.final.median.value),
                decimal(group.area.iqm.value),
                count(int(min(run.steps for run in group.runs if run.final is not None))),
            )
            for group in comparison.groups
        ],
    )
    if len(comparison.groups) > 3:
        say()
        say_table(
            ("BETTER?", "THAN", "P(IMPROVEMENT)", "INTERVAL", "P", "VERDICT"),
            [
                (
                    pair.first,
                    pair.second,
                    f"{pair.improvement.value:.2f}",
                    _interval(pair.improvement),
                    "-" if pair.p_value is None else f"{pair.p_value:.3f}",
                    "told apart" if pair.is_told_apart else "not told apart",
                )
                for pair in comparison.pairs
            ],
        )


def _say_differences(comparison: Comparison, shows_equal: bool) -> None:
    if len(comparison.groups) > 1:
        say()
        if comparison.differences:
            say("What differs in the configs")
            say_table(
                ("PARAMETER", *(printable(_short(group.label)) for group in comparison.groups)),
                [
                    (item.path, *(_short(value) for value in item.values))
                    for item in comparison.differences
                ],
            )
        else:
            say("The configs are equal but for their seeds.")
    if shows_equal and comparison.equalities:
        say()
        say("What is equal")
        say_table(
            ("PARAMETER", "VALUE"),
            [(item.path, _short(item.values[0])) for item in comparison.equalities],
        )
    elif comparison.equalities:
        say(
            paint(
                f"{amount(len(comparison.equalities), 'parameter')} equal (--equal lists them)",
                "dim",
            )
        )


def _interval(estimate: Estimate) -> str:
    if estimate.low is None or estimate.high is None:
        return "-"
    return f"{decimal(estimate.low)} to {decimal(estimate.high)}"


def _short(text: str) -> str:
    return text if len(text) <= _MOST_VALUE else text[: _MOST_VALUE - 1] + "…"
