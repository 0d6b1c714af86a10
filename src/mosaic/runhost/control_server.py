"""The control socket: JSON lines over a private unix socket, never waiting for a client."""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic.private_folder import PrivateFolder
from mosaic.runhost.line_splitter import LineSplitter

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
        # Neither endless requests nor replies nobody reads may fill our memory.
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
