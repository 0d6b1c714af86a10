"""`mosaic watch -- COMMAND ARG…`: any script, unmodified, as a run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.cli.session import open_client
from mosaic.cli.terminal import paint, printable
from mosaic.errors import ConfigError, RequestError

WORKER = "script"
# What makes the command find the same programs and libraries as in the shell it was typed in.
PASSED_ON = (
    *("PATH", "VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV"),
    *("PYTHONPATH", "LD_LIBRARY_PATH"),
)
# The daemon sets them for its workers. A script must compute what it computes without us, and
# the order of sums depends on them; so they stay as they are in the shell, unless --cpus is given.
THREAD_COUNTS = (
    *("OMP_NUM_THREADS", "MKL_NUM_THREADS"),
    *("OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
)
_HARMLESS_VALUES = ("", "true", "false", "none", "yes", "no")


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
    parser.add_argument("--cpus", type=int, help="CPU slots, and threads of its libraries")
    parser.add_argument("--memory-mb", type=int, help="memory limit in MB")
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
    parser.add_argument("--slot", type=int, default=0, metavar="N", help="which one, with single")
    parser.add_argument("--grid-limit", type=int, metavar="N", help="how many at most, with grid")
    parser.add_argument(
        "--record",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="keep the actions of all episodes, so that each can be replayed (default)",
    )
    parser.add_argument("--max-duration", type=int, metavar="SECONDS", help="stop after this time")
    add_environment_option(parser)
    parser.add_argument("--detach", action="store_true", help="print the run's id and return")
    parser.add_argument("--dry-run", action="store_true", help="check everything, start nothing")
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="-- COMMAND ARG")
    parser.set_defaults(handler=watch)


def watch(arguments: argparse.Namespace) -> int:
    from mosaic.cli.script_consent import preview
    from mosaic.cli.submission import submit_and_report

    document = watch_document(arguments, os.environ)
    if not arguments.json:
        for line in preview(document):
            print(paint(printable(line), "dim", sys.stderr), file=sys.stderr, flush=True)
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
    from mosaic.cli.training_config import run_document
    from mosaic.watch import get_worker_metadata
    from mosaic.watch.command import (
        command_label,
        resolve_command,
        search_path,
        working_folder,
    )

    words = arguments.words[1:] if arguments.words[:1] == ["--"] else arguments.words
    if not words:
        raise RequestError(
            "COMMAND is missing", hint="for example `mosaic watch -- python train.py --seed 1`"
        )
    refuse_secrets(words)
    folder = working_folder(arguments.cwd)
    python = arguments.env_python
    # Not resolved: an interpreter knows its virtual environment by the name it has there.
    env_python = str(Path(python).expanduser().absolute()) if python else None
    path = search_path(environ.get("PATH", os.defpath), env_python)
    command = resolve_command(words, folder=folder, path=path, env_python=env_python)
    variables = shell_variables(environ, is_limited=arguments.cpus is not None)
    variables.update(parse_environment(arguments.env))
    capabilities = get_worker_metadata()
    settings = {
        "command": list(command),
        "cwd": str(folder),
        "compatibility": arguments.compat,
        "video_mode": arguments.video,
        "fastlane_slot": arguments.slot,
        "record_episodes": arguments.record,
    }
    if env_python is not None:
        settings["env_python"] = env_python
    if arguments.grid_limit is not None:
        settings["fastlane_grid_limit"] = arguments.grid_limit
    if arguments.cpus is None:
        settings["unset_variables"] = [name for name in THREAD_COUNTS if name not in variables]
    document = run_document(
        WORKER,
        arguments.name or command_label(words),
        settings,
        cpus=arguments.cpus or capabilities.cpu_cores,
        memory_mb=arguments.memory_mb or 2 * capabilities.estimated_memory_mb,
        gpus=int(arguments.cuda),
        environment=variables,
    )
    if arguments.max_duration is not None:
        document["schedule"] = {"max_duration_seconds": arguments.max_duration}
    return document


def shell_variables(environ: Mapping[str, str], *, is_limited: bool) -> dict[str, str]:
    names = PASSED_ON if is_limited else (*PASSED_ON, *THREAD_COUNTS)
    return {name: environ[name] for name in names if environ.get(name)}


def refuse_secrets(words: list[str]) -> None:
    """A command is stored with its run, and everybody on the machine can see it in `ps`."""
    from mosaic.contracts.hostile_text import is_secret_name

    for index, word in enumerate(words):
        name, equals, value = word.lstrip("-").partition("=")
        if not equals and index + 1 < len(words) and not words[index + 1].startswith("-"):
            value = words[index + 1]
        is_harmless = value.lower() in _HARMLESS_VALUES or value.replace(".", "").isdigit()
        if word.startswith("--") and not is_harmless and is_secret_name(name):
            raise ConfigError(
                f"--{name} looks like a secret, and commands are stored",
                hint="pass it as a variable: --env NAME, and `bash -c '… --"
                f'{name} "$NAME"\'` where the script takes it from nowhere else',
                field="command",
            )
