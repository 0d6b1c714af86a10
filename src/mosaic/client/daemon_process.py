"""Finding, starting and stopping the daemon of a home. Never talks to any other process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.client.channel import Target, ask_health, unix_target
from mosaic.errors import DaemonConflictError, HomeError, TrainerUnreachableError
from mosaic.files import read_json, tail_lines
from mosaic.logs import get_logger
from mosaic.paths import Home
from mosaic.private_folder import NotPrivateError, PrivateFolder
from mosaic.processes import ProcessIdentity, is_alive, send_signal
from mosaic.wire.answers import Health

log = get_logger(__name__)

START_TIMEOUT_S = 10.0
# For one that is on its way up: on a machine with much else to do that may take long, and whoever
# gives up on it has nobody to talk to.
STARTING_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 20.0
ANSWER_TIMEOUT_S = 3.0
POLL_S = 0.02
# For the daemon that ours gave way to: to announce itself, before we start yet another. Many
# clients that lost one daemon would else keep a slow machine busy with starting losers.
GIVE_WAY_S = 1.0
MAX_STDERR_BYTES = 1_000_000

# Daemons this process started, by pid, with their exit status once they have ended.
_children: dict[int, int | None] = {}


@dataclass(frozen=True)
class DaemonInfo:
    """daemon.json: what a daemon says about itself once it listens."""

    identity: ProcessIdentity
    socket: str
    version: str
    addresses: tuple[str, ...]
    started_at: float

    @property
    def target(self) -> Target:
        return unix_target(self.socket)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> DaemonInfo:
        return cls(
            ProcessIdentity.from_dict(data),
            str(data["socket"]),
            str(data.get("version", "")),
            tuple(data.get("addresses", ())),
            float(data.get("started_at", 0.0)),
        )


def living_daemon(home: Home) -> DaemonInfo | None:
    """The daemon that announced itself in this home, if that very process is alive."""
    _reap_children()
    try:
        data = read_json(home.daemon_info)
        info = None if data is None else DaemonInfo.from_dict(data)
    except (OSError, ValueError, KeyError, TypeError):
        log.warning("announcement.refused", path=str(home.daemon_info))
        return None
    return info if info is not None and is_alive(info.identity) else None


def ensure_daemon(
    home: Home,
    *,
    may_start: bool = True,
    timeout_s: float = START_TIMEOUT_S,
    options: Sequence[str] = (),
) -> DaemonInfo:
    """The running daemon of this home, verified; starts one when there is none and that is allowed.

    Any number of clients may do this at once: the daemon's own lock lets one live, the others
    exit with DaemonConflictError's status, and every client ends up with the survivor.
    """
    began = time.monotonic()
    start: _Start | None = None
    start_at = 0.0
    problem = TrainerUnreachableError(
        f"No daemon is running for {home.root}", hint="start one with `mosaic daemon start`"
    )
    while True:
        info = living_daemon(home)
        if info is not None:
            _check_folder(info)
            try:
                health = ask_health(info.target, ANSWER_TIMEOUT_S)
            except TrainerUnreachableError as error:
                problem = error
            else:
                if _is_announced_daemon(health, info, home):
                    return info
                if living_daemon(home) == info:  # not merely replaced while we asked
                    raise _unexpected_daemon(health, info)
        elif may_start:
            if start is None and time.monotonic() >= start_at:
                start = _Start(home, options)
            if start is not None and start.lost_the_race():
                start, start_at = None, time.monotonic() + GIVE_WAY_S
            timeout_s = max(timeout_s, STARTING_TIMEOUT_S)  # ours, or the one it gave way to
        if time.monotonic() - began > timeout_s:
            raise start.failure(f"did not answer within {timeout_s:.0f} s") if start else problem
        time.sleep(POLL_S)


def _check_folder(info: DaemonInfo) -> None:
    """Anybody else who can enter it could listen there in its place and be told secrets."""
    try:
        with PrivateFolder.open(Path(info.socket).parent):
            pass
    except NotPrivateError as error:
        raise TrainerUnreachableError(
            f"The daemon's socket is in {error.filename}, and that is not safe: {error.strerror}",
            hint="stop the daemon, have the folder removed, and start it again",
        ) from error
    except OSError:
        return  # asking the daemon tells what is wrong


def _is_announced_daemon(health: Health, info: DaemonInfo, home: Home) -> bool:
    return health.pid == info.identity.pid and Path(health.home).resolve() == home.root.resolve()


def _unexpected_daemon(health: Health, info: DaemonInfo) -> TrainerUnreachableError:
    return TrainerUnreachableError(
        f"A stranger answers on {info.socket}: process {health.pid} of {health.home}, "
        f"where process {info.identity.pid} was expected",
        hint="stop that process, or remove the socket and try again",
    )


class _Start:
    """One attempt to start a daemon, and its standard error for the case that it fails."""

    def __init__(self, home: Home, options: Sequence[str]) -> None:
        home.create()
        self._stderr = home.logs / "daemon.stderr.log"
        fd = _open_stderr(self._stderr)
        try:
            process = subprocess.Popen(
                [sys.executable, "-P", "-m", "mosaic.daemon", "--home", str(home.root), *options],
                stdin=subprocess.DEVNULL,
                stdout=fd,
                stderr=fd,
                cwd="/",
                start_new_session=True,
            )
        finally:
            os.close(fd)
        self._pid = process.pid
        _children[process.pid] = None
        # A daemon outlives whoever started it; Popen would complain about that at exit. From here
        # on we reap it by its pid, when it happens to end before us.
        process.returncode = 0
        log.info("daemon.launched", pid=self._pid, home=str(home.root))

    def lost_the_race(self) -> bool:
        """Whether it gave way to another daemon; raises when it failed for any other reason."""
        _reap_children()
        status = _children[self._pid]
        if status is None:
            return False
        if status == DaemonConflictError.exit_status:
            return True
        raise self.failure(f"ended with status {status}")

    def failure(self, what: str) -> TrainerUnreachableError:
        lines = [line for line in tail_lines(self._stderr, 20) if line.strip()]
        said = f": {lines[-1]}" if lines else ""
        return TrainerUnreachableError(
            f"The daemon (pid {self._pid}) {what}{said}",
            hint=f"see {self._stderr}",
            stderr_tail=lines,
        )


def _open_stderr(path: Path) -> int:
    try:
        if path.exists() and path.stat().st_size > MAX_STDERR_BYTES:
            path.unlink()
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HomeError(
            f"{path} cannot be written: {error.strerror}",
            hint="make the home directory writable, or set MOSAIC_HOME to another one",
            path=str(path),
        ) from error


def stop_daemon(home: Home, timeout_s: float = STOP_TIMEOUT_S) -> bool:
    """Ask the daemon to end and wait until it has; runs continue. False when none was running."""
    info = living_daemon(home)
    if info is None or not send_signal(info.identity, signal.SIGTERM):
        return False
    send_signal(info.identity, signal.SIGCONT)  # a frozen one could not hear
    deadline = time.monotonic() + timeout_s
    while is_alive(info.identity):
        if time.monotonic() > deadline:
            raise TrainerUnreachableError(
                f"The daemon (pid {info.identity.pid}) did not stop within {timeout_s:.0f} s",
                hint=f"see {home.daemon_log}; `kill -9 {info.identity.pid}` hurts no run",
            )
        time.sleep(POLL_S)
    _reap_children()
    return True


def _reap_children() -> None:
    for pid, status in list(_children.items()):
        if status is None:
            try:
                ended, code = os.waitpid(pid, os.WNOHANG)
            except ChildProcessError:  # somebody else in this program reaped it
                _children[pid] = -1
            else:
                _children[pid] = os.waitstatus_to_exitcode(code) if ended else None
