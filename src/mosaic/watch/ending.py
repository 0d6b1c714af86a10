"""What the end of a watched command means for its run. Pure."""

from __future__ import annotations

import shlex
import signal
from collections.abc import Sequence

from mosaic.errors import ProgramError

_SHOWN_COMMAND = 200
_SHOWN_LINES = 3


def failure_of(
    status: int, command: Sequence[str], last_lines: Sequence[str]
) -> ProgramError | None:
    """`status` as subprocess has it: negative for a signal. None when all is well."""
    if status == 0:
        return None
    shown = shlex.join(command)
    if len(shown) > _SHOWN_COMMAND:
        shown = f"{shown[:_SHOWN_COMMAND]}…"
    message = f"{shown} {how_it_ended(status)}"
    words = last_words(last_lines)
    hint = "`mosaic logs RUN --stderr` has all it said"
    if status == -signal.SIGKILL:
        hint = "often the system ran out of memory; see `dmesg`, or give it a --memory-mb limit"
    return ProgramError(
        f"{message}: {words}" if words else message,
        hint=hint,
        exit_code=status if status > 0 else 128 - status,
        output="\n".join(last_lines),
    )


def how_it_ended(status: int) -> str:
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    return f"was killed by {name}"


def last_words(lines: Sequence[str]) -> str:
    """The last lines of standard error on one; of a Python traceback only the error itself."""
    speaking = [
        line.strip()
        for line in lines
        if line.strip() and not line[0].isspace() and not line.startswith("Traceback (most")
    ]
    if any(line.startswith("Traceback (most") for line in lines):
        speaking = speaking[-1:]
    return " | ".join(speaking[-_SHOWN_LINES:])
