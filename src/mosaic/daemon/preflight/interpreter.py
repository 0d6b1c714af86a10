"""The interpreter exists, is a Python, and is new enough for the worker SDK."""

from __future__ import annotations

from mosaic.daemon.preflight.subject import Subject
from mosaic.daemon.preflight_result import PreflightResult
from mosaic.daemon.workers.interpreters import check_python, python_version, version_text
from mosaic.errors import InterpreterError

CHECK = "interpreter"


def check(subject: Subject) -> list[PreflightResult]:
    python = subject.command.python
    if not subject.may_be_tried:
        return [PreflightResult(CHECK, True, f"{python} is not tried before it is confirmed")]
    try:
        # A script of one's own may run on any Python; the SDK needs a recent one.
        version = (check_python if subject.command.is_sdk_worker else python_version)(python)
    except InterpreterError as error:
        return [
            PreflightResult(
                CHECK, False, str(error), error.hint, error=InterpreterError, details=error.details
            )
        ]
    return [PreflightResult(CHECK, True, f"{python} is Python {version_text(version)}")]
