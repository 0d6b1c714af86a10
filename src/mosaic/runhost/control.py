"""The control socket, what a request on it means, and the commands passed on to the worker."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from mosaic.private_folder import PrivateFolder
from mosaic.runhost.output_lines import LineSplitter

MAX_REQUEST_BYTES = 1_048_576
MAX_CLIENTS = 32
_MAX_UNREAD_REPLIES = 262_144


class ControlServer:
    """Registers callbacks as the `data` of selector keys; the loop calls them."""

    def __init__(
        self,
        path: Path,
        selector: selectors.BaseSelector,
        answer: Callable[[bytes], dict[str, Any]],
    ) -> None:
        self._path = path
        self._selector = selector
        self._answer = answer
        self._clients: set[_Client] = set()
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)

    def open(self) -> None:
        """Raises OSError when there can be no socket at that path, or its folder is not ours."""
        with PrivateFolder.make(self._path.parent) as folder:
            # The path belongs to this attempt, whose lock we hold: what is there is stale.
            folder.remove(self._path.name)
        # Created private, not made private afterwards.
        umask = os.umask(0o177)
        try:
            self._listener.bind(str(self._path))
        finally:
            os.umask(umask)
        self._listener.listen(MAX_CLIENTS)
        self._listener.setblocking(False)
        self._selector.register(self._listener, selectors.EVENT_READ, self._accept)

    def close(self) -> None:
        for client in list(self._clients):
            client.close()
        with contextlib.suppress(KeyError, ValueError):
            self._selector.unregister(self._listener)
        self._listener.close()
        with contextlib.suppress(OSError):
            self._path.unlink()

    def _accept(self) -> None:
        try:
            connection, _ = self._listener.accept()
        except OSError:
            return  # the client gave up, or we are short of descriptors for a moment
        if len(self._clients) >= MAX_CLIENTS:
            connection.close()
            return
        self._clients.add(_Client(connection, self._selector, self._answer, self._clients.discard))


class _Client:
    def __init__(
        self,
        connection: socket.socket,
        selector: selectors.BaseSelector,
        answer: Callable[[bytes], dict[str, Any]],
        forget: Callable[[_Client], None],
    ) -> None:
        self._connection = connection
        self._selector = selector
        self._answer = answer
        self._forget = forget
        self._requests = LineSplitter(MAX_REQUEST_BYTES)
        self._replies = bytearray()
        self._is_open = True
        connection.setblocking(False)
        selector.register(connection, selectors.EVENT_READ, self._serve)

    def close(self) -> None:
        if self._is_open:
            self._is_open = False
            self._selector.unregister(self._connection)
            self._connection.close()
            self._forget(self)

    def _serve(self) -> None:
        try:
            self._receive()
            self._reply()
        except OSError:
            self.close()

    def _receive(self) -> None:
        try:
            data = self._connection.recv(65_536)
        except BlockingIOError:
            return
        if not data:
            self.close()
            return
        for line in self._requests.feed(data):
            self._replies += json.dumps(self._answer(line)).encode() + b"\n"
        # Neither endless requests nor unread replies may fill our memory.
        if self._requests.oversized or len(self._replies) > _MAX_UNREAD_REPLIES:
            self.close()

    def _reply(self) -> None:
        if not self._is_open:
            return
        with contextlib.suppress(BlockingIOError):
            while self._replies:
                sent = self._connection.send(self._replies)
                del self._replies[:sent]
        write = selectors.EVENT_WRITE if self._replies else 0
        self._selector.modify(self._connection, selectors.EVENT_READ | write, self._serve)


# -- What a request means: one JSON object in, one JSON object out


class CommandError(Exception):
    """The command cannot be carried out; the message goes back to whoever asked."""


class RunControl(Protocol):
    """What a run lets others do to it. All of these may raise CommandError."""

    def stop(self, reason: str, grace_s: float | None) -> dict[str, Any]: ...
    def pause(self) -> None: ...
    def unpause(self) -> None: ...
    def send(self, line: dict[str, Any]) -> None: ...
    def status(self) -> dict[str, Any]: ...


def answer(run: RunControl, line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return {"ok": False, "error": "the request is not JSON"}
    if not isinstance(request, dict):
        return {"ok": False, "error": "the request is not a JSON object"}
    try:
        return {"ok": True, **_carry_out(run, request)}
    except CommandError as error:
        return {"ok": False, "error": str(error)}


def _carry_out(run: RunControl, request: dict[str, Any]) -> dict[str, Any]:
    match request.get("command"):
        case "stop":
            return run.stop(_reason(request), _grace(request))
        case "pause":
            run.pause()
        case "resume":
            run.unpause()
        case "send":
            line = request.get("line")
            if not isinstance(line, dict):
                raise CommandError("'line' must be a JSON object")
            run.send(line)
        case "status":
            return run.status()
        case other:
            raise CommandError(f"unknown command {str(other)[:80]!r}")
    return {}


def _reason(request: dict[str, Any]) -> str:
    reason = request.get("reason", "user_cancel")
    if not isinstance(reason, str) or not reason:
        raise CommandError("'reason' must be a word")
    return reason[:80]


def _grace(request: dict[str, Any]) -> float | None:
    grace = request.get("grace_s")
    if grace is None:
        return None
    if isinstance(grace, bool) or not isinstance(grace, int | float) or not 0 <= grace < 1e9:
        raise CommandError("'grace_s' must be a number of seconds, 0 or more")
    return float(grace)


MAX_UNREAD_BYTES = 1_048_576


class WorkerInput:
    """`fd` is None for a worker that takes no commands."""

    def __init__(self, fd: int | None, selector: selectors.BaseSelector) -> None:
        self._fd = fd
        self._takes_commands = fd is not None
        self._selector = selector
        self._unsent = bytearray()
        self._is_registered = False
        if fd is not None:
            os.set_blocking(fd, False)

    def send(self, line: dict[str, Any]) -> None:
        if not self._takes_commands:
            raise CommandError("this worker takes no commands")
        if self._fd is None:
            raise CommandError("the worker has closed its standard input")
        data = json.dumps(line).encode() + b"\n"
        if len(self._unsent) + len(data) > MAX_UNREAD_BYTES:
            raise CommandError("the worker does not read its commands; the buffer is full")
        self._unsent += data
        self._write()

    def close(self) -> None:
        if self._fd is not None:
            self._watch(False)
            os.close(self._fd)
            self._fd = None
            self._unsent.clear()

    def _write(self) -> None:
        if self._fd is None:
            return
        try:
            while self._unsent:
                del self._unsent[: os.write(self._fd, self._unsent)]
        except BlockingIOError:
            pass  # the pipe is full; the loop calls again when the worker has read some
        except OSError:
            self.close()
            return
        self._watch(bool(self._unsent))

    def _watch(self, wanted: bool) -> None:
        if wanted and not self._is_registered:
            assert self._fd is not None
            self._selector.register(self._fd, selectors.EVENT_WRITE, self._write)
        elif self._is_registered and not wanted:
            assert self._fd is not None
            self._selector.unregister(self._fd)
        self._is_registered = wanted
