"""`mosaic watch -- COMMAND ARG…`: any script, unmodified, as a run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import Any

from mosaic.cli.shared.argument_types import config_number, natural, positive
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import paint, printable, say_to_stderr


def add(commands: Any) -> None:
    from mosaic.cli.shared.submission import add_environment_option, add_following_options

    parser = commands.add_parser(
        "watch",
        help="run any script unmodified, with its metrics, frames, logs and files",
        usage="mosaic watch [options] -- COMMAND [ARG …]",
        description=(
            "Runs any script unmodified, with its metrics, frames, logs and files, and follows it "
            "as `mosaic run` does."
        ),
    )
    parser.add_argument(
        "--name", metavar="TEXT", help="a label for the run; default: the script's name"
    )
    parser.add_argument(
        "--env-python",
        metavar="PATH",
        help="what `python` means; default: the one on your PATH, as of an activated environment",
    )
    parser.add_argument("--cwd", metavar="DIR", help="where the command runs; default: here")
    parser.add_argument(
        "--cpus",
        metavar="N",
        type=config_number("resources.cpus"),
        help="CPU slots, and threads of its libraries",
    )
    parser.add_argument(
        "--memory-mb",
        metavar="N",
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
    _add_recording_options(parser)
    parser.add_argument(
        "--max-duration",
        type=config_number("schedule.max_duration_seconds"),
        metavar="SECONDS",
        help="stop after this time",
    )
    add_environment_option(parser)
    add_following_options(parser)
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="-- COMMAND ARG", help="as you would type it"
    )
    parser.set_defaults(handler=watch)


def _add_recording_options(parser: argparse.ArgumentParser) -> None:
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


def watch(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.submission import submit_and_report
    from mosaic.front.script_config import preview

    document = watch_document(arguments, os.environ)
    if not arguments.json:
        for line in preview(document):
            say_to_stderr(paint(printable(line), "dim", sys.stderr))
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
    from mosaic.cli.shared.submission import parse_environment
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
