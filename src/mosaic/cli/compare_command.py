"""`mosaic compare RUN...|GROUP...`: curves over seeds, verdicts, config differences, a report."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.numbers import positive
from mosaic.cli.session import open_client
from mosaic.cli.terminal import say, say_json
from mosaic.errors import RequestError
from mosaic.front.human import moment

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.compare.groups import RunGroup


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
        "--last", type=positive, metavar="N", help="final performance: so many values; 100"
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
    from mosaic.cli.compare_view import say_comparison

    say_comparison(comparison, shows_equal=arguments.equal)
    for path in (arguments.out, arguments.png):
        if path:
            say(f"Written: {path}")
    return 0


def find_groups(client: TrainerClient, words: Sequence[str]) -> list[RunGroup]:
    from mosaic.compare.groups import form_groups, select

    known = client.list_runs(limit=0)
    selections = [select(word, known) for word in words]
    run_ids = dict.fromkeys(run_id for found in selections for run_id in found.run_ids)
    records = {run_id: client.get_run(run_id) for run_id in run_ids}
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
