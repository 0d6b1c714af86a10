"""Options of any run: a command names those it has, what they mean is said once."""

from __future__ import annotations

import argparse
from typing import Any

from mosaic.cli.shared.argument_types import config_number, natural

# Of commands that start a run and follow it.
FOLLOWING = ("--detach", "--dry-run", "--json")
_SWITCH: dict[str, Any] = {"action": "store_true"}
_OPTIONS: dict[str, dict[str, Any]] = {
    "--name": {
        "metavar": "TEXT",
        "help": "a label for the run; default: made from its settings",
    },
    "--cpus": {
        "metavar": "N",
        "type": config_number("resources.cpus"),
        "help": "CPU slots, and threads of its libraries; default: as many as it needs",
    },
    "--memory-mb": {
        "metavar": "N",
        "type": config_number("resources.memory_mb"),
        "help": "memory limit in MB; default: none",
    },
    "--cuda": {**_SWITCH, "help": "on a GPU; refused when there is none"},
    "--max-duration": {
        "metavar": "SECONDS",
        "type": config_number("schedule.max_duration_seconds"),
        "help": "stop after this time",
    },
    "--priority": {
        "metavar": "N",
        "type": config_number("priority"),
        "help": "-100 to 100; higher starts first",
    },
    "--retries": {
        "metavar": "N",
        "type": natural,
        "help": "start again so often after a failure, from its last checkpoint if it has one",
    },
    "--env": {
        "action": "append",
        "default": [],
        "metavar": "KEY[=VALUE]",
        "help": "environment variable for the worker; KEY alone passes on your own (repeatable)",
    },
    "--extra": {
        "action": "append",
        "default": [],
        "metavar": "KEY=VALUE",
        "help": "anything else that the worker takes, as `--extra video_mode=single` (repeatable)",
    },
    "--detach": {**_SWITCH, "help": "print the run's id and return"},
    "--dry-run": {**_SWITCH, "help": "check everything, start nothing"},
    "--json": {**_SWITCH, "help": "machine-readable output"},
    "--install": {
        **_SWITCH,
        "help": "install what the run needs first; asks on a terminal, with the size",
    },
    "--yes": {**_SWITCH, "help": "do not ask: what is shown is agreed to"},
}


def add_run_options(parser: argparse.ArgumentParser, *names: str) -> None:
    for name in names:
        parser.add_argument(name, **_OPTIONS[name])
