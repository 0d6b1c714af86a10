"""How a client gets to its daemon, the first time and after losing it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from mosaic.client.channel import Target, ask_health, tcp_target
from mosaic.client.daemon_process import (
    ANSWER_TIMEOUT_S,
    POLL_S,
    START_TIMEOUT_S,
    ensure_daemon,
)
from mosaic.errors import TrainerUnreachableError
from mosaic.paths import Home
from mosaic.wire.server_address import TcpAddress, TlsFiles, parse_tcp_address

# How long a client waits for a daemon it has lost, and for one that said goodbye.
RETURN_TIMEOUT_S = 30.0
GOODBYE_TIMEOUT_S = 10.0


class DaemonReach(Protocol):
    """Both methods block, and raise TrainerUnreachableError when time runs out."""

    def connect(self) -> Target:
        """For a new request: whatever it takes."""

    def reconnect(self, is_follower: bool) -> Target:
        """In the middle of a request: wait for the daemon to come back.

        A follower only looks on; it must not bring back a daemon somebody stopped on purpose.
        """


@dataclass(frozen=True)
class LocalDaemon:
    """The daemon of a home on this machine, through its unix socket."""

    home: Home
    autostart: bool = True

    def connect(self) -> Target:
        timeout_s = START_TIMEOUT_S if self.autostart else 0.0
        return ensure_daemon(self.home, may_start=self.autostart, timeout_s=timeout_s).target

    def reconnect(self, is_follower: bool) -> Target:
        was_stopped = not self.home.daemon_info.exists()
        may_start = self.autostart and not (is_follower and was_stopped)
        timeout_s = GOODBYE_TIMEOUT_S if was_stopped else RETURN_TIMEOUT_S
        return ensure_daemon(self.home, may_start=may_start, timeout_s=timeout_s).target


@dataclass(frozen=True)
class TcpDaemon:
    """A daemon that listens on TCP, wherever it is; never started from here."""

    address: TcpAddress
    token: str | None

    def connect(self) -> Target:
        target = tcp_target(self.address, self.token)
        ask_health(target, ANSWER_TIMEOUT_S)
        return target

    def reconnect(self, is_follower: bool) -> Target:
        deadline = time.monotonic() + RETURN_TIMEOUT_S
        while True:
            try:
                return self.connect()
            except TrainerUnreachableError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(POLL_S)


def choose_reach(
    home: Home | Path | str | None,
    autostart: bool,
    address: str | None,
    token: str | None,
    tls: TlsFiles | None,
) -> DaemonReach:
    """TCP when an address is given, the unix socket of the home otherwise."""
    if address is not None:
        return TcpDaemon(parse_tcp_address(address, tls), token)
    if home is None:
        home = Home.current()
    elif not isinstance(home, Home):
        home = Home(Path(home).expanduser().absolute())
    return LocalDaemon(home, autostart)
