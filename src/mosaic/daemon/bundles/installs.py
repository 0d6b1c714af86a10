"""Installs under way: one program each, followed by whoever wants to, whoever asked for it.

They belong to the daemon and to nobody else: an install goes on when its client hangs up, and ends
when the daemon does, however that ends. What is left then the next daemon sweeps.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Callable
from dataclasses import dataclass, field

from mosaic.bundles.install_program import ProgramRequest
from mosaic.contracts.bundles import InstallPhase, InstallProgress
from mosaic.daemon.runs.background_tasks import BackgroundTasks
from mosaic.logs import get_logger

log = get_logger(__name__)

PROGRAM = "mosaic.bundles.install_program"
# Each fetches and unpacks with all that network and disk give.
MOST_AT_ONCE = 2
# How long one may take to clean up after it was told to end.
ENDING_TIMEOUT_S = 15.0
CLOSING_TIMEOUT_S = 3.0
_MAX_LINE = 2**20
_COMPLAINT_LINES = 20

_BEFORE = InstallProgress(InstallPhase.WAITING)

Listener = Callable[["Install"], None]


@dataclass(eq=False)
class Install:
    """One that is under way, or over. Changed on the event loop only."""

    key: str  # what it makes: no two of one key at the same time
    name: str
    request: ProgramRequest
    progress: InstallProgress = _BEFORE
    was_canceled: bool = False
    task: asyncio.Task[None] | None = None
    _changed: set[asyncio.Event] = field(default_factory=set)

    def tell(self, progress: InstallProgress) -> None:
        self.progress = progress
        for event in self._changed:
            event.set()

    async def follow(self) -> AsyncGenerator[InstallProgress, None]:
        """How far it is now, then each change; a slow reader misses what was superseded."""
        changed = asyncio.Event()
        self._changed.add(changed)
        try:
            while True:
                changed.clear()
                progress = self.progress
                yield progress
                if progress.is_over:
                    return
                await changed.wait()
        finally:
            self._changed.discard(changed)


class Installs:
    def __init__(self, on_change: Listener = lambda install: None) -> None:
        self.under_way: dict[str, Install] = {}
        self.on_change = on_change
        self._tasks = BackgroundTasks()
        self._turns = asyncio.Semaphore(MOST_AT_ONCE)
        self._patience_s = ENDING_TIMEOUT_S

    def start(self, key: str, name: str, request: ProgramRequest) -> Install:
        """The one that is under way already, if it makes the same."""
        known = self.under_way.get(key)
        if known is not None:
            return known
        phase = InstallPhase.WAITING if self._turns.locked() else InstallPhase.FETCHING
        install = self.under_way[key] = Install(key, name, request, InstallProgress(phase))
        install.task = self._tasks.spawn(self._run(install))
        log.info("install.started", bundle=name, path=key)
        return install

    def named(self, name: str) -> list[Install]:
        return [install for install in self.under_way.values() if install.name == name]

    async def cancel(self, install: Install) -> None:
        """Returns when it is over and has left nothing."""
        install.was_canceled = True
        if install.task is not None:
            install.task.cancel()
            await asyncio.wait({install.task})
        if not install.progress.is_over:  # it was canceled before it had begun
            self._finish(install, _canceled(install))

    async def close(self) -> None:
        """The daemon ends, and with it all of them."""
        self._patience_s = CLOSING_TIMEOUT_S
        await self._tasks.close()

    async def _run(self, install: Install) -> None:
        last = _canceled(install)
        try:
            async with self._turns:
                last = await self._watched(install)
        finally:
            self._finish(install, last)

    def _finish(self, install: Install, last: InstallProgress) -> None:
        del self.under_way[install.key]
        log.info("install.ended", bundle=install.name, phase=last.phase, problem=last.message)
        self._tell(install, last)

    async def _watched(self, install: Install) -> InstallProgress:
        """How it ended, by what the program said last."""
        try:
            program = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", PROGRAM),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                env={**os.environ, "PYTHONSAFEPATH": "1"},
                start_new_session=True,
                limit=_MAX_LINE,
            )
        except OSError as error:
            return _failed(f"The install of {install.name} cannot be started: {error.strerror}")
        complaint = asyncio.create_task(_last_lines(program.stderr))
        last = _BEFORE
        try:
            await _ask(program, install.request)
            assert program.stdout is not None
            async for line in program.stdout:
                last = _parsed(line) or last
                if not last.is_over:
                    self._tell(install, last)
            await program.wait()
        finally:
            await _end(program, self._patience_s)
            await asyncio.wait({complaint}, timeout=1.0)
            complaint.cancel()
        if last.is_over:
            return last
        lines = complaint.result() if complaint.done() and not complaint.cancelled() else []
        return _failed(
            f"The install of {install.name} ended with {program.returncode} before it was done"
            + (f": {lines[-1]}" if lines else ""),
            hint=f"`mosaic bundles install {install.name}` tries again",
        )

    def _tell(self, install: Install, progress: InstallProgress) -> None:
        install.tell(progress)
        self.on_change(install)


async def _ask(program: asyncio.subprocess.Process, request: ProgramRequest) -> None:
    assert program.stdin is not None
    with contextlib.suppress(BrokenPipeError, ConnectionResetError):
        program.stdin.write(request.to_json())
        await program.stdin.drain()
        program.stdin.close()


def _canceled(install: Install) -> InstallProgress:
    sentence = f"The install of {install.name} was canceled; nothing of it was left"
    return InstallProgress(InstallPhase.CANCELED, message=sentence)


async def _end(program: asyncio.subprocess.Process, patience_s: float) -> None:
    """It cleans up after a SIGTERM; what does not end then is killed with all that it started."""
    if program.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            program.terminate()
        try:
            async with asyncio.timeout(patience_s):
                await program.wait()
        except TimeoutError:
            log.warning("install.killed", pid=program.pid)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(program.pid, signal.SIGKILL)
    await program.wait()


async def _last_lines(stream: asyncio.StreamReader | None) -> list[str]:
    lines: list[str] = []
    assert stream is not None
    while chunk := await stream.read(65_536):
        text = chunk.decode("utf-8", "replace")
        lines = [*lines, *(line.strip() for line in text.splitlines() if line.strip())]
        lines = lines[-_COMPLAINT_LINES:]
    return lines


def _parsed(line: bytes) -> InstallProgress | None:
    try:
        return InstallProgress.from_dict(json.loads(line))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None  # a package tool that printed something of its own


def _failed(message: str, hint: str = "") -> InstallProgress:
    return InstallProgress(InstallPhase.FAILED, message=message, hint=hint)
