"""SimulatorProcess: the simulator from outside. Never waits forever, and leaves nothing behind."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterable

from mosaic.errors import WorkerError
from mosaic.replay.messages import BrokenMessageError, Message, packed, read_message

MODULE = "mosaic.replay.simulator"
_CHUNK = 1 << 16
_PIPE_BYTES = 1 << 20
_LAST_LINES = 10
_LONGEST_LINE = 300
_END_WAIT_S = 2.0


class SimulatorProcess:
    """Raises WorkerError, with the simulator's last words, for whatever goes wrong in it."""

    def __init__(
        self, python: str, path: Iterable[str], module: str = MODULE, *arguments: str
    ) -> None:
        lifeline, self._lifeline = os.pipe()
        # How our own interpreter was set up is nothing to another one.
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PYTHON")}
        environment = {
            **inherited,
            "PYTHONPATH": os.pathsep.join(path),
            "PYTHONSAFEPATH": "1",  # not what happens to lie where we were started
            "PYTHONUNBUFFERED": "1",
        }
        try:
            self._process = subprocess.Popen(
                [python, "-m", module, str(lifeline), *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=environment,
                pass_fds=[lifeline],
                start_new_session=True,  # a group to end at once; Ctrl-C is not for it
                bufsize=0,
            )
        except OSError as error:
            os.close(self._lifeline)
            raise WorkerError(
                f"the interpreter {python} cannot be started: {error.strerror}",
                hint="replay where the worker is installed",
            ) from error
        finally:
            os.close(lifeline)
        # Tells that it ended without reaping it: until then its number is nobody else's.
        self._pidfd = os.pidfd_open(self._process.pid)
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._requests = self._process.stdin.fileno()
        self._answers = self._process.stdout.fileno()
        os.set_blocking(self._requests, False)
        os.set_blocking(self._answers, False)
        with contextlib.suppress(OSError):
            # A whole picture at once: neither side wakes up ten times for it.
            fcntl.fcntl(self._answers, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        self._unread = bytearray()
        self._lines: deque[str] = deque(maxlen=_LAST_LINES)
        self._listener = threading.Thread(
            target=self._listen, args=(self._process.stderr.fileno(),), daemon=True
        )
        self._listener.start()
        self._is_closed = False

    @property
    def pid(self) -> int:
        return self._process.pid

    def send(self, message: Message, wait_s: float) -> None:
        deadline = time.monotonic() + wait_s
        for part in packed(message):
            view = memoryview(part)
            while view:
                self._await(self._requests, select.POLLOUT, deadline, wait_s)
                try:
                    view = view[os.write(self._requests, view) :]
                except BlockingIOError:
                    continue
                except OSError as error:
                    raise self._ended() from error

    def receive(self, wait_s: float) -> Message:
        """The next message, which has to come within this many seconds."""
        deadline = time.monotonic() + wait_s

        def read(size: int) -> bytes:
            while len(self._unread) < size:
                self._await(self._answers, select.POLLIN, deadline, wait_s)
                try:
                    # Many messages at once, where they are small.
                    chunk = os.read(self._answers, max(size - len(self._unread), _CHUNK))
                except BlockingIOError:
                    continue
                if not chunk:
                    break
                self._unread += chunk
            with memoryview(self._unread) as unread:
                data = bytes(unread[:size])
            del self._unread[:size]
            return data

        try:
            message = read_message(read)
        except BrokenMessageError as error:
            if self._has_ended(0):
                raise self._ended() from error
            self.kill()
            raise WorkerError(f"the simulator's answer cannot be read: {error}") from error
        if message is None:
            raise self._ended()
        return message

    def kill(self) -> None:
        """With all that the environment has started."""
        if self._process.returncode is None:
            os.killpg(self._process.pid, signal.SIGKILL)

    def close(self) -> None:
        """Gives the environment a moment to close; ends its process in any case."""
        if self._is_closed:
            return
        self._is_closed = True
        process = self._process
        assert process.stdin and process.stdout and process.stderr
        with contextlib.suppress(OSError):
            process.stdin.close()
        try:
            self._has_ended(_END_WAIT_S)
        finally:
            self.kill()
            process.wait()
            os.close(self._pidfd)
            os.close(self._lifeline)
            process.stdout.close()
            self._listener.join(_END_WAIT_S)
            if not self._listener.is_alive():
                process.stderr.close()

    def _has_ended(self, wait_s: float) -> bool:
        return _is_ready(self._pidfd, select.POLLIN, wait_s)

    def _await(self, fd: int, event: int, deadline: float, wait_s: float) -> None:
        if not _is_ready(fd, event, deadline - time.monotonic()):
            self.kill()
            raise WorkerError(
                f"the environment did not answer for {wait_s:g} s{self._last_words()}",
                hint="it hangs, or needs longer than that for a step",
            )

    def _ended(self) -> WorkerError:
        has_ended = self._has_ended(_END_WAIT_S)
        self.kill()
        status = self._process.wait()
        self._listener.join(_END_WAIT_S)
        if not has_ended:
            return WorkerError(f"the simulator closed its output{self._last_words()}")
        how = f"was killed by {_signal_name(-status)}" if status < 0 else f"exited with {status}"
        return WorkerError(f"the environment's process {how}{self._last_words()}")

    def _last_words(self) -> str:
        lines = list(self._lines)
        return f"; its last words: {' | '.join(lines)}" if lines else ""

    def _listen(self, fd: int) -> None:
        rest = b""
        with contextlib.suppress(OSError):
            while chunk := os.read(fd, _CHUNK):
                *lines, rest = (rest + chunk).split(b"\n")
                rest = rest[-_LONGEST_LINE:]
                for line in lines[-_LAST_LINES:]:
                    self._note(line)
        self._note(rest)

    def _note(self, line: bytes) -> None:
        text = line.decode("utf-8", "replace").strip()
        if text:
            self._lines.append(text[:_LONGEST_LINE])


def _is_ready(fd: int, event: int, wait_s: float) -> bool:
    poll = select.poll()  # `select` refuses descriptors beyond 1024
    poll.register(fd, event)
    return bool(poll.poll(max(0.0, wait_s) * 1000))


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
