"""`mosaic`: parses the command line, runs the command, turns errors into messages and statuses."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from mosaic import __version__
from mosaic.errors import MosaicError, RequestError

# gRPC tells about every lost connection on standard error; we tell in our own words.
os.environ.setdefault("GRPC_VERBOSITY", "NONE")


class Parser(argparse.ArgumentParser):
    """Usage errors look like all other errors."""

    def error(self, message: str) -> NoReturn:
        raise RequestError(message, hint=f"see `{self.prog} --help`")


def build_parser(words: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """All commands. Flags that workers bring are looked up only where these words may need them;
    without any, all are there.
    """
    from mosaic.cli.commands import (
        bundles,
        catalogue,
        compare,
        control,
        daemon,
        export,
        frames,
        gui,
        keeping,
        labels,
        logs,
        metrics,
        policies,
        replay,
        reproduce,
        run,
        runs,
        tensorboard,
        train,
        trials,
        wandb,
        watch,
        workers,
    )
    from mosaic.cli.shared.worker_flags import flags_by_command

    parser = Parser(prog="mosaic", description="Train agents in runs that are never lost.")
    parser.add_argument("--version", action="version", version=f"mosaic {__version__}")
    parser.add_argument("--home", help="default: $MOSAIC_HOME, else the user's data directory")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", dest="command")
    flags = flags_by_command(None if words is None else own_words(list(words)))
    for add in (
        gui.add,
        partial(train.add, flags=flags["train"]),
        partial(policies.add_eval, flags=flags["eval"]),
        partial(policies.add_resume, flags=flags["resume"]),
        reproduce.add,
        policies.add_play_policy,
        catalogue.add,
        run.add_run,
        partial(watch.add, flags=flags["watch"]),
        run.add_submit,
        runs.add,
        logs.add,
        metrics.add,
        frames.add,
        compare.add,
        replay.add,
        export.add,
        tensorboard.add,
        wandb.add,
        trials.add,
        control.add,
        labels.add,
        *(keeping.add_trash, keeping.add_pin_and_clean, keeping.add_archive_and_import),
        workers.add,
        bundles.add,
        daemon.add_daemon,
        daemon.add_doctor,
    ):
        add(commands)
    version = commands.add_parser("version", help="print the version")
    version.set_defaults(handler=show_version)
    return parser


def show_version(arguments: argparse.Namespace) -> int:
    print(f"mosaic {__version__}")
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the console script; returns the exit status."""
    words = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        _tolerate_any_text(stream)
    try:
        status = _run(words)
        sys.stdout.flush()
        return status
    except BrokenPipeError:
        # Whoever read our output has enough. Python would complain again when it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        from mosaic.cli.shared.failures import INTERRUPTED

        return INTERRUPTED


def _run(words: list[str]) -> int:
    try:
        parser = build_parser(words)
        arguments = parser.parse_args(words)
        if arguments.command is None:
            parser.print_help()
            return RequestError.exit_status
        status: int = arguments.handler(arguments)
        return status
    except MosaicError as error:
        from mosaic.cli.shared.failures import report

        return report(error, as_json="--json" in own_words(words))


def own_words(words: list[str]) -> list[str]:
    """Without what follows `--`: those are the words of somebody else's command."""
    return words[: words.index("--")] if "--" in words else words


def _tolerate_any_text(stream: Any) -> None:
    """A name that the terminal's encoding cannot show must not end the command."""
    if hasattr(stream, "reconfigure"):
        stream.reconfigure(errors="replace")
