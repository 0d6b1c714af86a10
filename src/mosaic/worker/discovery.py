"""Lists the workers of one Python environment: `python -m mosaic.worker.discovery`.

Runs inside any interpreter and prints one JSON list. Each worker is asked in a forked child, so
that one which prints, exits, crashes or hangs on import cannot spoil the answer of the others.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import importlib.util
import json
import os
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mosaic.contracts.capabilities import WORKERS_GROUP, ReadinessCheck, WorkerCapabilities
from mosaic.errors import ConfigError
from mosaic.files import is_readable, write_all

QUESTION_TIMEOUT_S = 30.0


@dataclass(frozen=True)
class WorkerReference:
    """A worker's name and where its `get_worker_metadata` is: `package:function`."""

    name: str
    target: str

    @property
    def module(self) -> str:
        return self.target.partition(":")[0] + ".cli"


def find_references(explicit: Sequence[str]) -> list[WorkerReference]:
    """Those named on the command line win over installed ones of the same name."""
    found: dict[str, WorkerReference] = {}
    for text in explicit:
        name, equals, target = text.partition("=")
        if not (name and equals and ":" in target):
            raise ConfigError(
                f"--worker {text!r} is not of the form name=package:function", field="worker"
            )
        found.setdefault(name, WorkerReference(name, target))
    for entry in importlib.metadata.entry_points(group=WORKERS_GROUP):
        found.setdefault(entry.name, WorkerReference(entry.name, entry.value))
    return sorted(found.values(), key=lambda reference: reference.name)


def describe(reference: WorkerReference) -> dict[str, Any]:
    """Import the worker and ask it; every failure becomes an error text."""
    answer = _answer(reference)
    try:
        package, _, function = reference.target.partition(":")
        factory = getattr(importlib.import_module(package), function)
        answer["capabilities"], checks = _plain_capabilities(factory())
        answer["readiness"] = [run_check(check) for check in checks]
    except (Exception, SystemExit) as error:  # noqa: BLE001 (foreign code: anything may come out)
        traceback.print_exc()
        answer["error"] = f"{type(error).__name__}: {error}"
    return answer


def describe_in_child(
    reference: WorkerReference, timeout_s: float = QUESTION_TIMEOUT_S
) -> dict[str, Any]:
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        os.dup2(2, 1)  # whatever the worker prints goes to stderr
        write_all(writer, json.dumps(describe(reference)).encode())
        os._exit(0)
    os.close(writer)
    try:
        content = _read_until_closed(reader, time.monotonic() + timeout_s)
    finally:
        os.close(reader)
    if content is None:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    if content is None:
        return _answer(reference, f"gave no answer within {timeout_s:g} s")
    try:
        answer: dict[str, Any] = json.loads(content)
    except ValueError:
        code = os.waitstatus_to_exitcode(status)
        return _answer(reference, f"the process ended with status {code} while importing")
    return answer


def run_check(check: ReadinessCheck) -> dict[str, Any]:
    """A readiness check in this environment, with what to do when it fails."""
    kind, _, subject = check.check.partition(":")
    probe = _PROBES.get(kind)
    is_met = probe is not None and probe(subject)
    message = f"{subject} is {'there' if is_met else 'missing'}"
    if probe is None:
        message = f"{check.check!r} is not a known kind of check"
    return {
        "name": check.name,
        "ok": is_met,
        "message": message,
        "fix": "" if is_met else check.fix,
        "required": check.required,
    }


def _is_importable(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, AttributeError, ValueError):
        return False


_PROBES: dict[str, Callable[[str], bool]] = {
    "import": _is_importable,
    "command": lambda program: shutil.which(program) is not None,
    "env": lambda variable: bool(os.environ.get(variable)),
}


def _plain_capabilities(answer: Any) -> tuple[dict[str, Any], tuple[ReadinessCheck, ...]]:
    """Checked by reading them back, as whoever asked for them will."""
    data = answer if isinstance(answer, dict) else answer.to_dict()
    plain = json.loads(json.dumps(data, allow_nan=False))
    return plain, WorkerCapabilities.from_dict(plain).readiness_checks


def _answer(reference: WorkerReference, error: str = "") -> dict[str, Any]:
    return {
        "name": reference.name,
        "module": reference.module,
        "capabilities": None,
        "error": error,
        "readiness": [],
    }


def _read_until_closed(fd: int, deadline: float) -> bytes | None:
    content = b""
    while (left := deadline - time.monotonic()) > 0:
        if is_readable(fd, left):
            chunk = os.read(fd, 65_536)
            if not chunk:
                return content
            content += chunk
    return None


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m mosaic.worker.discovery", description=__doc__)
    parser.add_argument("--path", action="append", default=[], help="also look in this folder")
    parser.add_argument("--worker", action="append", default=[], metavar="NAME=PACKAGE:FUNCTION")
    arguments = parser.parse_args(argv)
    sys.path[:0] = arguments.path
    try:
        references = find_references(arguments.worker)
    except ConfigError as error:
        parser.error(error.message)
    answers = [describe_in_child(reference) for reference in references]
    write_all(1, (json.dumps(answers) + "\n").encode())
    return 0


if __name__ == "__main__":
    sys.exit(main())
