"""The embedded server as a process of the run: started, watched, restarted, stopped."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic.errors import ConfigError, WorkerError
from mosaic.files import make_directory
from spade_bdi_rl_worker.agents.accounts import ServerAddress
from spade_bdi_rl_worker.agents.child import Child

HOST = "localhost"
CERTIFICATE = f"{HOST}_cert.pem"  # what the program calls it
START_S = 20.0  # one attempt; it takes half a second where nothing else runs
_RETRY_S = 0.2


class ServerProcess:
    """One server; `on_end` is called when it ends without having been asked to."""

    def __init__(self, folder: Path, on_end: Callable[[], None] = lambda: None) -> None:
        self.folder = folder / "xmpp"
        self.port = 0
        self.starts = 0
        self._on_end = on_end
        self._child: Child | None = None
        self._said: asyncio.Future[dict[str, Any]] | None = None

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    @property
    def is_alive(self) -> bool:
        return self._child is not None and not self._child.ended.is_set()

    @property
    def address(self) -> ServerAddress:
        certificate = str(self.folder / CERTIFICATE)
        return ServerAddress(HOST, self.port, HOST, certificate, verify=True, registers=True)

    async def start(self, port: int, patience_s: float) -> None:
        """Until it listens. Raises ConfigError where the port is taken, WorkerError otherwise."""
        make_directory(self.folder, mode=0o700)
        deadline = time.monotonic() + patience_s
        while True:
            problem = await self._attempt(port, min(START_S, patience_s))
            if not problem:
                self.starts += 1
                return
            if "address already in use" in problem or "Address already in use" in problem:
                raise ConfigError(
                    f"port {port} is taken, so the XMPP server of this run cannot use it",
                    hint="choose another port, or 0 for any that is free",
                    field="xmpp.port",
                )
            if time.monotonic() + _RETRY_S > deadline:
                raise WorkerError(
                    f"the XMPP server of this run does not start: {problem}",
                    hint=f"what it wrote is in {self.folder / 'server.log'}",
                )
            await asyncio.sleep(_RETRY_S)

    async def restart(self, patience_s: float) -> bool:
        """With the same accounts, and on the same port; False where somebody else has that now."""
        deadline = time.monotonic() + min(5.0, patience_s)
        while time.monotonic() < deadline:
            try:
                await self.start(self.port, patience_s)
                return True
            except ConfigError:  # perhaps the kernel has not let go of it yet
                await asyncio.sleep(_RETRY_S)
        await self.start(0, patience_s)
        return False

    async def stop(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            await child.stop()

    async def _attempt(self, port: int, limit_s: float) -> str:
        """An empty text, or why it does not run."""
        await self.stop()
        said: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._said = said
        is_up = False

        def on_line(line: dict[str, Any]) -> None:
            if not said.done():
                said.set_result(line)

        def on_end() -> None:
            on_line({"error": ""})
            if is_up:
                self._on_end()

        arguments = [str(self.folder), str(port), str(os.getpid())]
        self._child = child = Child(
            "server", arguments, self.folder / "server.log", on_line, on_end
        )
        try:
            answer = await asyncio.wait_for(said, limit_s)
        except TimeoutError:
            answer = {"error": f"it is not ready after {limit_s:.0f} seconds"}
        except asyncio.CancelledError:
            child.kill()
            raise
        if "port" in answer:
            self.port, is_up = int(answer["port"]), True
            return ""
        with contextlib.suppress(asyncio.CancelledError):
            await self.stop()
        return str(answer.get("error") or child.last_words() or "it ended without a word")
