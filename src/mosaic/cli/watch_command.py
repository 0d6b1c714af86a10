"""`mosaic watch -- COMMAND ARG…`: any script, unmodified, as a run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Any

from mosaic.cli.numbers import config_number, natural, positive
from mosaic.cli.session import open_client
from mosaic.cli.terminal import paint, printable, say_aside


def add(commands: Any) -> None:
    from mosaic.cli.submission import add_environment_option

    parser = commands.add_parser(
        "watch",
        help="run any script unmodified, with its metrics, frames, logs and files",
        usage="mosaic watch [options] -- COMMAND [ARG …]",
    )
    parser.add_argument("--name", help="a label for the run; default: the script's name")
    parser.add_argument(
        "--env-python",
        metavar="PATH",
        help="what `python` means; default: the one on your PATH, as of an activated environment",
    )
    parser.add_argument("--cwd", metavar="DIR", help="where the command runs; default: here")
    parser.add_argument(
        "--cpus",
        type=config_number("resources.cpus"),
        help="CPU slots, and threads of its libraries",
    )
    parser.add_argument(
        "--memory-mb",
        type=config_number("resources.memory_mb"),
        help="memory limit in MB; default: none",
    )
    parser.add_argument(
        "--cuda", action="store_true", help="reserve a GPU; without it none is seen"
    )
    parser.add_argument(
        "--compat",
        action=argparse.BooleanOptionalAction,
        default=False,
        help="for scripts written for Gymnasium before 1.0",
    )
    parser.add_argument(
        "--video",
        choices=("single", "grid", "off"),
        default="grid",
        help="live frames: one environment, several side by side (default), or none",
    )
    parser.add_argument(
        "--slot", type=natural, default=0, metavar="N", help="which one, with single"
    )
    parser.add_argument(
        "--grid-limit", type=positive, metavar="N", help="how many at most, with grid"
    )
    parser.add_argument(
        "--record",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep the actions of all episodes, so that each can be replayed (default)",
    )
    parser.add_argument(
        "--max-duration",
        type=config_number("schedule.max_duration_seconds"),
        metavar="SECONDS",
        help="stop after this time",
    )
    add_environment_option(parser)
    parser.add_argument("--detach", action="store_true", help="print the run's id and return")
    parser.add_argument("--dry-run", action="store_true", help="check everything, start nothing")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND ARG")
    parser.set_defaults(handler=watch)


def watch(arguments: argparse.Namespace) -> int:
    from mosaic.cli.submission import submit_and_report
    from mosaic.front.script_config import preview

    document = watch_document(arguments, os.environ)
    if not arguments.json:
        for line in preview(document):
            say_aside(paint(printable(line), "dim", sys.stderr))
    with open_client(arguments) as client:
        return submit_and_report(
            client,
            document,
            dry_run=arguments.dry_run,
            follow=not arguments.detach,
            as_json=arguments.json,
        )


def watch_document(arguments: argparse.Namespace, environ: Mapping[str, str]) -> dict[str, Any]:
    """The TrainRunConfig that the command line and the shell around it describe."""
    from mosaic.cli.submission import parse_environment
    from mosaic.front.script_config import WatchedScript, script_document

    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    script = WatchedScript(
        tuple(words),
        name=arguments.name or "",
        folder=arguments.cwd,
        env_python=arguments.env_python,
        cpus=arguments.cpus,
        memory_mb=arguments.memory_mb,
        use_gpu=arguments.cuda,
        is_compatible=arguments.compat,
        video_mode=arguments.video,
        slot=arguments.slot,
        grid_limit=arguments.grid_limit,
        is_recorded=arguments.record,
        max_duration_s=arguments.max_duration,
        environment=parse_environment(arguments.env),
    )
    return script_document(script, environ)
