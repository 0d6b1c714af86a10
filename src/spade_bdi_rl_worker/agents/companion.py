"""One agent beside the learner, as the team sees it: its process, what it is told, what it says."""

from __future__ import annotations

import asyncio
import itertools
import os
from collections import deque
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from mosaic.errors import ConfigError, MosaicError, WorkerError
from spade_bdi_rl_worker.agents.accounts import ServerAddress
from spade_bdi_rl_worker.agents.child import Child
from spade_bdi_rl_worker.agents.coach import CompanionStart
from spade_bdi_rl_worker.agents.protocols import Trace

MAX_RESTARTS = 5
MAX_WAITING = 100  # commands, while it is not there
ANSWER_S = 3.0
_EVENTS = ("belief", "goal", "plan", "intention", "message")


class Companion:
    """`trace` gets everything that happens inside it; notes go to `note` in any case."""

    def __init__(
        self,
        name: str,
        folder: Path,
        note: Callable[[str], None],
        on_failure: Callable[[MosaicError], None],
        trace: Trace | None = None,
        on_restart: Callable[[], None] = lambda: None,
    ) -> None:
        self.name = name
        self.restarts = 0
        self.ready = asyncio.Event()
        self._folder = folder
        self._note = note
        self._on_failure = on_failure
        self._trace = trace
        self._on_restart = on_restart
        self._start: CompanionStart | None = None
        self._child: Child | None = None
        self._numbers = itertools.count(1)
        self._answers: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._waiting: deque[dict[str, Any]] = deque()
        self._is_stopping = False

    @property
    def pid(self) -> int | None:
        return self._child.pid if self._child is not None else None

    def launch(self) -> None:
        """Start its process; it imports what it needs while the server comes up."""
        log = self._folder / f"{self.name}.log"
        life = self.restarts

        def hear(line: dict[str, Any]) -> None:
            self._hear(line, life)

        self._child = Child("coach", [str(os.getpid())], log, hear, self._ended)

    async def begin(self, start: CompanionStart) -> None:
        """Tell it who it is, and wait until it is connected."""
        self._start = start
        self._tell_start()
        await self.ready.wait()

    def move(self, server: ServerAddress) -> None:
        if self._start is not None and self._child is not None:
            self._start = CompanionStart(**{**asdict(self._start), "server": asdict(server)})
            self._child.write({"command": "server", "address": asdict(server)})

    async def ask(self, command: dict[str, Any]) -> dict[str, Any]:
        """Its answer; while it is not there the command waits for it."""
        if not self.ready.is_set():
            if len(self._waiting) >= MAX_WAITING:
                return {"ok": False, "text": f"too many commands wait for {self.name}"}
            self._waiting.append(command)
            return {"ok": True, "text": f"{self.name} is told as soon as it is there"}
        number = next(self._numbers)
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._answers[number] = answer
        try:
            self._write({**command, "id": number})
            return await asyncio.wait_for(answer, ANSWER_S)
        except TimeoutError:
            return {"ok": False, "text": f"{self.name} does not answer"}
        finally:
            self._answers.pop(number, None)

    async def stop(self) -> None:
        self._is_stopping = True
        if self._child is not None:
            await self._child.stop()

    def _tell_start(self) -> None:
        if self._start is not None:
            self._write(asdict(self._start))

    def _write(self, line: dict[str, Any]) -> None:
        if self._child is not None:
            self._child.write(line)

    def _hear(self, line: dict[str, Any], life: int) -> None:
        """`life`: in which of its lives it has said this."""
        event = line.get("event")
        if event == "note":
            self._note(f"{self.name}: {line.get('text', '')}")
        elif event == "ready":
            self.ready.set()
            while self._waiting:
                self._write({**self._waiting.popleft(), "id": 0})
        elif event == "answer":
            answer = self._answers.get(line.get("id", 0))
            if answer is not None and not answer.done():
                answer.set_result({"ok": bool(line.get("ok")), "text": str(line.get("text"))})
            elif not line.get("ok"):
                self._note(f"{self.name} could not do what it was told: {line.get('text')}")
        elif event == "failed":
            self._fail(str(line.get("kind")), str(line.get("text")))
        elif event in _EVENTS and self._trace is not None and life == self.restarts:
            getattr(self._trace, event)(*line.get("values", ()))

    def _fail(self, kind: str, text: str) -> None:
        self._is_stopping = True  # it ends by itself, and another one would fail as well
        if kind == "PlanError":
            self._on_failure(ConfigError(f"the plan of {self.name}: {text}", field="agents"))
        elif kind == "PasswordRefusedError":
            self._on_failure(refused_password(text))
        else:
            self._on_failure(WorkerError(f"{self.name} cannot go on: {text}"))

    def _ended(self) -> None:
        """Its process is gone though nobody asked it to end."""
        self.ready.clear()
        if self._is_stopping or self._child is None:
            return
        words, status = self._child.last_words(), self._child.returncode
        self.restarts += 1
        if self.restarts > MAX_RESTARTS:
            text = f"{self.name} ended {self.restarts} times, the last time with status {status}"
            self._on_failure(WorkerError(f"{text}: {words}" if words else text))
            return
        self._note(f"{self.name} ended with status {status} and is started again")
        self._on_restart()
        self.launch()
        self._tell_start()


def refused_password(text: str) -> MosaicError:
    return ConfigError(
        text, hint="check the password, and that the account exists", field="xmpp.password_variable"
    )
