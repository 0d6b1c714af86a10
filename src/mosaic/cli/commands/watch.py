"""`mosaic watch -- COMMAND ARG…`: any script, unmodified, as a run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.run_options import FOLLOWING, add_run_options
from mosaic.cli.shared.terminal import paint, printable, say_to_stderr
from mosaic.cli.shared.worker_flags import add_worker_flags

if TYPE_CHECKING:
    from mosaic.front.flags import PublishedFlags


def add(commands: Any, flags: PublishedFlags) -> None:
    """`flags`: those of the worker that watches scripts."""
    parser = commands.add_parser(
        "watch",
        help="run any script unmodified, with its metrics, frames, logs and files",
        usage="mosaic watch [options] -- COMMAND [ARG …]",
        description=(
            "Runs any script unmodified, with its metrics, frames, logs and files, and follows it "
            "as `mosaic run` does. It runs in the current folder, and sees no GPU without --cuda."
        ),
    )
    add_run_options(
        parser,
        *("--name", "--cpus", "--memory-mb", "--cuda", "--max-duration", "--env", *FOLLOWING),
        *("--install", "--yes"),
    )
    add_worker_flags(parser, flags)
    parser.add_argument(
        "words", nargs=argparse.REMAINDER, metavar="-- COMMAND ARG", help="as you would type it"
    )
    parser.set_defaults(handler=watch)


def watch(arguments: argparse.Namespace) -> int:
    from mosaic.cli.shared.install_agreement import RunInstalls
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
            is_confirmed=arguments.yes,
            installs=RunInstalls.of(arguments),
        )


def watch_document(arguments: argparse.Namespace, environ: Mapping[str, str]) -> dict[str, Any]:
    """The TrainRunConfig that the command line and the shell around it describe."""
    from mosaic.cli.shared.submission import parse_environment
    from mosaic.front.flags import flag_settings
    from mosaic.front.script_config import WatchedScript, script_document, script_options

    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    script = WatchedScript(
        tuple(words),
        flag_settings(arguments.worker_flags, script_options(), "script"),
        name=arguments.name or "",
        cpus=arguments.cpus,
        memory_mb=arguments.memory_mb,
        use_gpu=arguments.cuda,
        max_duration_s=arguments.max_duration,
        environment=parse_environment(arguments.env),
    )
    return script_document(script, environ)
