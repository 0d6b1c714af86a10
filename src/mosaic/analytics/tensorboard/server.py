"""TensorBoardServer: a TensorBoard on this machine, for one owner and no longer than they live."""

from __future__ import annotations

import contextlib
import http.client
import importlib.util
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from mosaic.analytics.tensorboard.logs import LogTree
from mosaic.errors import DependencyError, RequestError, StoreError
from mosaic.files import is_readable, tail_lines

PROGRAM = Path(__file__).with_name("program.py")
START_TIMEOUT_S = 60.0
_STOP_TIMEOUT_S = 5.0
_POLL_S = 0.05
_LOG_LINES = 10


class TensorBoardServer:
    """Shows a tree of logs; the tree goes with the server.

    It listens on the loopback interface only, and answers only below a path that cannot be
    guessed: TensorBoard itself asks nobody for a password.

        with TensorBoardServer(tree) as server:
            print(server.url)
    """

    def __init__(self, tree: LogTree, *, port: int = 0, python: str | None = None) -> None:
        self.url = ""
        self._tree = tree
        self._port = port
        self._python = python
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> TensorBoardServer:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int | None:
        return None if self._process is None else self._process.pid

    @property
    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(self, timeout_s: float = START_TIMEOUT_S) -> str:
        """The address, once a browser would get an answer there."""
        try:
            return self._start(time.monotonic() + timeout_s)
        except BaseException:
            self.stop()
            raise

    def wait(self) -> None:
        """Until it ends, which it does not do by itself."""
        if self._process is not None:
            self._process.wait()

    def ask_to_end(self) -> None:
        """`wait` returns soon after. May be called by a signal handler."""
        if self._process is not None and self._process.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._process.stdin.close()

    def stop(self) -> None:
        self.ask_to_end()
        process, self._process = self._process, None
        self.url = ""
        if process is not None:
            assert process.stdout is not None
            try:
                process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            process.stdout.close()
        self._tree.remove()

    def _start(self, deadline: float) -> str:
        python = self._python or interpreter_with_tensorboard()
        self._process = process = self._launch(python)
        assert process.stdin is not None and process.stdout is not None
        settings = {
            "owner": os.getpid(),
            "tree": str(self._tree.root),
            "logs": str(self._tree.logs),
            "port": self._port,
            "path_prefix": f"/{secrets.token_urlsafe(16)}",
        }
        with contextlib.suppress(BrokenPipeError):  # then its log says why
            process.stdin.write(json.dumps(settings).encode() + b"\n")
            process.stdin.flush()
        answer = self._read_answer(process, deadline)
        if "url" not in answer:
            raise self._failure(answer, python)
        self._wait_for_answer(answer["url"], deadline)
        self.url = answer["url"]
        return self.url

    def _launch(self, python: str) -> subprocess.Popen[bytes]:
        try:
            with self._log.open("ab") as log:
                return subprocess.Popen(
                    [python, str(PROGRAM)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=log,
                    cwd=self._tree.root,
                    # So that its own scratch files go with the tree, too.
                    env={**os.environ, "TMPDIR": str(self._tree.root)},
                    start_new_session=True,  # Ctrl-C is for the owner, who then stops this
                )
        except OSError as error:
            raise RequestError(
                f"TensorBoard cannot be started with {python}: {error.strerror}",
                hint="--python names the interpreter that has TensorBoard",
            ) from error

    def _read_answer(self, process: subprocess.Popen[bytes], deadline: float) -> dict[str, Any]:
        assert process.stdout is not None
        if not is_readable(process.stdout.fileno(), deadline - time.monotonic()):
            raise StoreError("TensorBoard did not start in time", stderr_tail=self._last_lines())
        line = process.stdout.readline()
        answer: dict[str, Any] = json.loads(line) if line.endswith(b"\n") else {}
        return answer

    def _wait_for_answer(self, url: str, deadline: float) -> None:
        while not answers(url):
            if not self.is_running or time.monotonic() > deadline:
                raise StoreError(
                    "TensorBoard does not answer", stderr_tail=self._last_lines(), url=url
                )
            time.sleep(_POLL_S)

    def _failure(self, answer: dict[str, Any], python: str) -> Exception:
        if answer.get("kind") == "missing":
            return tensorboard_missing(python, answer["error"])
        if "error" not in answer:
            return StoreError("TensorBoard ended at once", stderr_tail=self._last_lines())
        hint = "choose another --port, or none: then a free one is taken" if self._port else ""
        return RequestError(f"TensorBoard cannot be started: {answer['error']}", hint=hint)

    @property
    def _log(self) -> Path:
        return self._tree.root / "tensorboard.log"

    def _last_lines(self) -> list[str]:
        return tail_lines(self._log, _LOG_LINES)


def answers(url: str, timeout_s: float = 5.0) -> bool:
    """Whether TensorBoard is there; asked without any proxy that the environment names."""
    address = urlsplit(url)
    connection = http.client.HTTPConnection(address.hostname or "", address.port, timeout=timeout_s)
    with contextlib.closing(connection), contextlib.suppress(OSError, http.client.HTTPException):
        connection.request("GET", f"{address.path}data/environment")
        return connection.getresponse().status == http.client.OK
    return False


def interpreter_with_tensorboard() -> str:
    """Ours if it has TensorBoard, else the one of the program `tensorboard` on the path."""
    spec = importlib.util.find_spec("tensorboard")
    # A folder of that name, as many trainings leave one, is not a package.
    if spec is not None and spec.origin is not None:
        return sys.executable
    program = shutil.which("tensorboard")
    python = None if program is None else interpreter_of(Path(program))
    if python is None:
        raise tensorboard_missing(sys.executable)
    return python


def interpreter_of(program: Path) -> str | None:
    """The one that the first line of an installed program names."""
    try:
        with program.open("rb") as file:
            first = file.readline(4096)
    except OSError:
        return None
    words = os.fsdecode(first[2:]).split() if first.startswith(b"#!") else []
    return words[0] if len(words) == 1 and os.access(words[0], os.X_OK) else None


def tensorboard_missing(python: str, reason: str = "") -> DependencyError:
    return DependencyError(
        f"TensorBoard is not installed for {python}" + (f" ({reason})" if reason else ""),
        hint='pip install "mosaic-rl[tensorboard]"',
    )
