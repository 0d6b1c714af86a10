"""`mosaic doctor`: checks everything a run needs, and says how to fix what is missing."""

from __future__ import annotations

import argparse
from dataclasses import asdict
from typing import Any

from mosaic.cli.session import home_of, open_client
from mosaic.cli.terminal import say, say_json
from mosaic.errors import PreflightError


def add(commands: Any) -> None:
    doctor = commands.add_parser("doctor", help="check that everything works, with fixes")
    doctor.add_argument("--json", action="store_true", help="machine-readable output")
    doctor.set_defaults(handler=examine)


def examine(arguments: argparse.Namespace) -> int:
    from mosaic.cli.submission import say_checks
    from mosaic.front import machine_checks

    home = home_of(arguments)
    results = machine_checks.check_machine(home)
    with open_client(arguments) as client:
        results += machine_checks.check_daemon(client)
    problems = [result for result in results if result.required and not result.ok]
    if arguments.json:
        say_json({"ok": not problems, "checks": [asdict(result) for result in results]})
    else:
        say_checks(results)
        say("everything a run needs is there" if not problems else f"{len(problems)} to fix")
    return PreflightError.exit_status if problems else 0
