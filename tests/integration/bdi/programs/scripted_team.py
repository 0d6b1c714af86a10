"""A team with hands that only wait, and a trace that keeps everything; for programs of tests."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spade_bdi_rl_worker.agents.protocols import PursuitReport
from spade_bdi_rl_worker.agents.settings import TeamSettings
from spade_bdi_rl_worker.agents.team import Team, TeamReport

PATIENCE_S = 90.0


class ScriptedHands:
    """Every pursuit lasts until it is interrupted, or so many seconds."""

    def __init__(self, seconds: float = 3600.0) -> None:
        self.seconds = seconds
        self.pursued: list[tuple[float, str, str]] = []
        self.facts: dict[str, Any] = {
            "episodes": 0,
            "success_rate": 0.2,
            "mean_return": 0.2,
            "confidence": 0.1,
            "stagnating": False,
        }
        self.is_over = False
        self.reached = 0
        self.changed = threading.Condition()
        self._interrupted = threading.Event()

    def pursue(self, kind: str, target: str, episodes: int) -> PursuitReport:
        self._interrupted.clear()
        with self.changed:
            self.pursued.append((time.monotonic(), kind, target))
            self.facts["episodes"] += episodes
            self.changed.notify_all()
        was_interrupted = self._interrupted.wait(self.seconds)
        return PursuitReport(
            episodes, self.reached, was_interrupted=was_interrupted, is_over=self.is_over
        )

    def interrupt(self) -> None:
        self._interrupted.set()

    def beliefs(self) -> dict[str, Any]:
        return dict(self.facts)

    def await_pursuit(self, kind: str, target: str = "", since: float = 0.0) -> float:
        """When it began; fails after a while."""

        def begun() -> list[float]:
            return [at for at, *what in self.pursued if what == [kind, target] and at >= since]

        with self.changed:
            assert self.changed.wait_for(begun, PATIENCE_S), (kind, target, self.pursued[-5:])
            return begun()[0]


class KeptTrace:
    """Everything, with its moment."""

    def __init__(self) -> None:
        self.events: list[tuple[float, str, tuple[Any, ...]]] = []
        self.changed = threading.Condition()

    def belief(self, *values: Any) -> None:
        self._keep("belief", values)

    def goal(self, *values: Any) -> None:
        self._keep("goal", values)

    def plan(self, *values: Any) -> None:
        self._keep("plan", values)

    def intention(self, *values: Any) -> None:
        self._keep("intention", values)

    def message(self, *values: Any) -> None:
        self._keep("message", values)

    def note(self, *values: Any) -> None:
        self._keep("note", values)

    @property
    def notes(self) -> list[str]:
        return [values[0] for _, kind, values in self.events if kind == "note"]

    def of(self, kind: str) -> list[tuple[Any, ...]]:
        return [values for _, name, values in self.events if name == kind]

    def await_note(self, part: str, count: int = 1) -> None:
        with self.changed:
            assert self.changed.wait_for(
                lambda: sum(part in note for note in self.notes) >= count, PATIENCE_S
            ), (part, self.notes)

    def await_event(self, holds: Callable[[], bool], what: str) -> None:
        with self.changed:
            assert self.changed.wait_for(holds, PATIENCE_S), what

    def _keep(self, kind: str, values: tuple[Any, ...]) -> None:
        with self.changed:
            self.events.append((time.monotonic(), kind, values))
            self.changed.notify_all()


class RunningTeam:
    """A team in a thread, from when it is ready until the block ends."""

    def __init__(
        self, settings: TeamSettings, hands: ScriptedHands | None = None, **more: Any
    ) -> None:
        self.hands = hands or ScriptedHands()
        self.trace = KeptTrace()
        self.report: TeamReport | None = None
        self.error: Exception | None = None
        self.ready = threading.Event()
        self.started_at = time.monotonic()
        self.ready_s = 0.0
        self.team = Team(settings, self.hands, self.trace, on_ready=self._note_ready, **more)
        self.thread = threading.Thread(target=self._run)

    def __enter__(self) -> RunningTeam:
        self.thread.start()
        assert self.ready.wait(PATIENCE_S), self.trace.notes
        if self.error is not None and not self.ready_s:
            raise self.error
        return self

    def __exit__(self, *error: object) -> None:
        self.team.stop()
        self.join()

    def join(self) -> None:
        self.thread.join(PATIENCE_S)
        assert not self.thread.is_alive()

    @property
    def server_pid(self) -> int:
        assert self.team._server is not None and self.team._server.pid is not None
        return self.team._server.pid

    def companion_pid(self, name: str = "coach") -> int:
        pid = self.team._companions[name].pid
        assert pid is not None
        return pid

    def _note_ready(self, address: Any) -> None:
        self.address = address
        self.ready_s = time.monotonic() - self.started_at
        self.ready.set()

    def _run(self) -> None:
        try:
            self.report = self.team.run()
        except Exception as error:  # noqa: BLE001 (told by the program)
            self.error = error
        self.ready.set()


def cpu_seconds(pid: int) -> float:
    """What the process has used so far."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def memory_mb(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS"):
            return int(line.split()[1]) / 1024
    raise AssertionError(f"process {pid} has no memory")


def exists(pid: int) -> bool:
    """Whether it runs; one that has ended and is not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def await_gone(*pids: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while any(map(exists, pids)):
        assert time.monotonic() < deadline, pids
        time.sleep(0.01)


def listening_ports(pid: int) -> list[tuple[str, int]]:
    """Where a process listens, as address in hex and port."""
    inodes = set()
    for link in Path(f"/proc/{pid}/fd").iterdir():
        try:
            inodes.add(os.readlink(link))
        except OSError:
            continue
    found = []
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/{pid}/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                address, port = fields[1].split(":")
                found.append((address, int(port, 16)))
    return found
