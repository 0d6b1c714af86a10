"""A config file can start any program: what it would run is shown, and asked about."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from mosaic.cli.terminal import confirmed, printable
from mosaic.errors import ConsentError
from mosaic.front.started_program import preview


def ask_before_script(config: Mapping[str, Any]) -> None:
    """Raises ConsentError unless somebody wants the program of this config to run."""
    for line in preview(config):
        print(printable(line), file=sys.stderr, flush=True)
    if not sys.stdin.isatty():
        raise ConsentError(
            "This config starts a program, which needs a confirmation",
            hint="look at the command above, then pass --yes",
        )
    if not confirmed("Start it?"):
        raise ConsentError("Nothing was started", hint="answer y, or pass --yes")
