"""run_alone: an algorithm's own command line, `python -m cleanrl_worker.algorithms.ppo …`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cleanrl_worker.registry import Algorithm


def run_alone(name: str, argv: Sequence[str] | None = None) -> None:
    """Parse the flags, train below `runs/` in the current folder, and exit.

    `--preset` takes another registered name of the same module; `--resume` a checkpoint.
    """
    sys.exit(main(name, list(sys.argv[1:] if argv is None else argv)))


def main(name: str, argv: Sequence[str]) -> int:
    from mosaic.errors import MosaicError

    try:
        _train(name, argv)
    except MosaicError as error:
        print(f"error: {error.message}", file=sys.stderr)
        if error.hint:
            print(f"hint: {error.hint}", file=sys.stderr)
        return error.exit_status
    except KeyboardInterrupt:
        return 130
    return 0


def _train(name: str, argv: Sequence[str]) -> None:
    # Imported here: the algorithm's module imports this one, and a failed import is reported.
    from cleanrl_worker.command_line import parse_flags
    from cleanrl_worker.kit.reporting import TerminalReporter
    from cleanrl_worker.kit.training import run_training
    from cleanrl_worker.launcher import make_arguments
    from cleanrl_worker.resuming import algorithm_of, resume_from
    from mosaic.worker.control import Control, listen_to_signals

    own, flags = _own_flags(argv)
    algorithm = _preset_algorithm(name, own.preset)
    if "--help" in flags or "-h" in flags:
        _print_help(algorithm)
    control = Control()
    restore_signals = listen_to_signals(control)
    reporter = TerminalReporter(control)
    try:
        if own.resume is None:
            arguments = make_arguments(algorithm, parse_flags(algorithm, flags))
            run_training(algorithm, arguments, reporter, Path.cwd())
            return
        path = Path(own.resume)
        values = parse_flags(algorithm_of(path, own.preset), flags)
        resumed = resume_from(path, values, own.preset)
        if resumed.note:
            reporter.note(resumed.note)
        run_training(
            resumed.algorithm,
            resumed.arguments,
            reporter,
            Path.cwd(),
            checkpoint=resumed.checkpoint,
            lineage=resumed.lineage,
        )
    finally:
        reporter.close()
        restore_signals()


def _own_flags(argv: Sequence[str]) -> tuple[argparse.Namespace, list[str]]:
    """--preset and --resume, which decide what the other flags are and mean."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--preset")
    parser.add_argument("--resume")
    return parser.parse_known_args(argv)


def _print_help(algorithm: Algorithm) -> None:
    from cleanrl_worker.command_line import Flag, print_help

    own = (
        Flag("preset", str, algorithm.name, "registered name whose defaults are taken"),
        Flag("resume", str | None, None, "checkpoint to go on from, with its arguments"),
    )
    print_help(f"python -m {algorithm.module}", algorithm, own)


def _preset_algorithm(name: str, preset: str | None) -> Algorithm:
    from cleanrl_worker.registry import DEFAULT_ALGO_REGISTRY, find_algorithm
    from mosaic.errors import ConfigError

    algorithm, chosen = find_algorithm(name), find_algorithm(preset or name)
    if chosen.module != algorithm.module:
        same = [
            item.name for item in DEFAULT_ALGO_REGISTRY.values() if item.module == algorithm.module
        ]
        raise ConfigError(
            f"'preset': {preset} is no preset of this algorithm",
            hint=f"presets here: {', '.join(same)}; or run python -m {chosen.module}",
            field="preset",
        )
    return chosen
