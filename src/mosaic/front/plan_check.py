"""Plans of agents, checked by the worker's own program in the worker's own interpreter.

Nobody here can read a plan: the packages for that are in the worker's bundle. A checker gets the
plan on its standard input and prints one JSON object, see `contracts/agents.py`. It has ten
seconds, and whatever it does instead of answering becomes a sentence.
"""

from __future__ import annotations

import contextlib
import importlib.util
import os
import selectors
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mosaic
from mosaic.contracts.agents import LONGEST_TEXT
from mosaic.errors import WorkerError
from mosaic.foreign.files import parse_shallow_json

LIMIT_S = 10.0
MOST_PROBLEMS = 100
# A plan that is larger is neither checked nor sent: as a command it has to fit into one line.
MOST_BYTES = 131_072
_MOST_OUTPUT = 1_000_000
_KEPT_WORDS = 2_000
_CHUNK = 1 << 16
_HIGHEST = 10_000_000  # of a line or a column


@dataclass(frozen=True)
class PlanProblem:
    """Lines and columns count from 1; line 0 is nowhere in particular."""

    line: int
    column: int
    message: str
    is_error: bool = True


@dataclass(frozen=True)
class PlanChecker:
    """How the plans of a worker are checked."""

    python: str
    module: str

    def command(self, role: str) -> list[str]:
        return [self.python, "-m", self.module, *(["--role", role] if role else [])]


def read_problems(told: Any) -> tuple[PlanProblem, ...]:
    """From the checker's JSON, or a worker's answer to a plan; what is none is left out."""
    found = told.get("problems") if isinstance(told, dict) else None
    listed = found if isinstance(found, list) else []
    problems = (_problem(item) for item in listed[:MOST_PROBLEMS])
    known = (problem for problem in problems if problem is not None)
    return tuple(sorted(known, key=lambda problem: (problem.line, problem.column)))


def _problem(told: Any) -> PlanProblem | None:
    message = told.get("message") if isinstance(told, dict) else None
    if not isinstance(message, str) or not message.strip():
        return None
    line, column = _place(told.get("line")), _place(told.get("column"))
    text = _printable(message[:LONGEST_TEXT])
    return PlanProblem(line, column if line else 0, text, told.get("is_error") is not False)


def _printable(text: str) -> str:
    """In one line, and without what could steer whatever shows it."""
    plain = " ".join(text.split())
    return "".join(letter if letter.isprintable() else "\ufffd" for letter in plain)


def _place(value: Any) -> int:
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return min(max(value, 0), _HIGHEST) if is_count else 0


class PlanCheck:
    """One check: `run` waits for it in a thread; `stop` ends it at once, from any other."""

    def __init__(self, checker: PlanChecker, text: str, role: str) -> None:
        self._checker, self._text, self._role = checker, text, role
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def run(self, limit_s: float = LIMIT_S) -> tuple[PlanProblem, ...]:
        """Raises WorkerError where there is no answer."""
        text = self._text.encode("utf-8", "replace")
        if len(text) > MOST_BYTES:
            raise WorkerError(f"The plan has more than {MOST_BYTES:,} bytes")
        try:
            with tempfile.TemporaryDirectory(prefix="mosaic-plan-") as folder:
                output, words, status = self._talk(Path(folder), text, limit_s)
        except OSError as error:
            raise WorkerError(f"The plan cannot be checked: {error.strerror}") from error
        return _understood(output, words, status)

    def stop(self) -> None:
        with self._lock:
            self._is_stopped = True
            self._kill()

    def _talk(self, folder: Path, text: bytes, limit_s: float) -> tuple[bytes, bytes, int]:
        with tempfile.TemporaryFile() as plan, self._lock:
            if self._is_stopped:
                raise WorkerError("The check was stopped")
            plan.write(text)
            plan.seek(0)
            self._process = process = self._started(plan, folder)
        deadline = time.monotonic() + limit_s
        try:
            output, words = _read_all(process, deadline)
            process.wait(max(0.0, deadline - time.monotonic()))
        except (TimeoutError, subprocess.TimeoutExpired) as error:
            raise WorkerError(
                f"The plan was not checked within {limit_s:g} seconds",
                hint="it is checked again when it changes",
            ) from error
        finally:
            with self._lock:
                self._kill()
                process.wait()
            for pipe in (process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()
        return output, words, process.returncode

    def _started(self, plan: Any, folder: Path) -> subprocess.Popen[bytes]:
        # How our own interpreter was set up is nothing to another one.
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        packages = folder / "packages"
        packages.mkdir()
        for package in _packages(self._checker.module):
            (packages / package.name).symlink_to(package)
        try:
            return subprocess.Popen(
                self._checker.command(self._role),
                stdin=plan,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                cwd=folder,
                env={**inherited, "PYTHONPATH": str(packages), "PYTHONSAFEPATH": "1"},
                start_new_session=True,  # a group to end at once; Ctrl-C is not for it
            )
        except OSError as error:
            raise WorkerError(
                f"The interpreter {self._checker.python} cannot be started: {error.strerror}",
                hint="install the worker's bundle again",
            ) from error

    def _kill(self) -> None:
        """With all that it has started; never somebody else who has its number now."""
        if self._process is not None and self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGKILL)


def _packages(module: str) -> Iterable[Path]:
    """MOSAIC, and the worker's package where it is installed beside it; nothing else of our
    environment: in another one the packages are of other versions."""
    yield Path(mosaic.__file__).parent
    name = module.partition(".")[0]
    try:
        spec = importlib.util.find_spec(name) if name.isidentifier() else None
    except (ImportError, ValueError):
        return
    if spec is not None and spec.submodule_search_locations and spec.origin and name != "mosaic":
        yield Path(spec.origin).parent


def _read_all(process: subprocess.Popen[bytes], deadline: float) -> tuple[bytes, bytes]:
    """All that it prints, and the end of what it complains of. Raises TimeoutError."""
    assert process.stdout is not None and process.stderr is not None
    output, words = bytearray(), bytearray()
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, output)
        selector.register(process.stderr, selectors.EVENT_READ, words)
        while selector.get_map():
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            if time.monotonic() > deadline:
                raise TimeoutError
            for key, _ in ready:
                chunk = os.read(key.fd, _CHUNK)
                if not chunk:
                    selector.unregister(key.fileobj)
                key.data.extend(chunk)
            del words[:-_KEPT_WORDS]
            if len(output) > _MOST_OUTPUT:
                raise WorkerError("The checker of plans prints without end")
    return bytes(output), bytes(words)


def _understood(output: bytes, words: bytes, status: int) -> tuple[PlanProblem, ...]:
    try:
        told = parse_shallow_json(output)
    except ValueError:
        told = None
    if isinstance(told, dict) and isinstance(told.get("ok"), bool):
        problems = read_problems(told)
        if told["ok"] or any(problem.is_error for problem in problems):
            return problems
        return (PlanProblem(0, 0, "the plan is wrong, and nobody says where"), *problems)
    lines = words.decode("utf-8", "replace").split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    how = f"was ended by signal {-status}" if status < 0 else f"ended with {status}"
    said = f": {_printable(last[:LONGEST_TEXT])}" if last else ""
    raise WorkerError(f"The checker of plans {how} and gave no answer{said}")
