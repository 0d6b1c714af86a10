"""How a client gets to its daemon, the first time and after losing it."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Protocol

from mosaic.client.channel import Target, ask_health, tcp_target
from mosaic.client.daemon_process import (
    ANSWER_TIMEOUT_S,
    POLL_S,
    START_TIMEOUT_S,
    ensure_daemon,
    has_crashed,
)
from mosaic.errors import TrainerUnreachableError
from mosaic.paths import Home
from mosaic.wire.server_address import TcpAddress

# How long a client waits for a daemon it has lost.
RETURN_TIMEOUT_S = 30.0


class DaemonReach(Protocol):
    """Both methods block, and raise TrainerUnreachableError when time runs out."""

    def connect(self) -> Target:
        """For a new request: whatever it takes."""

    def reconnect(self) -> Target:
        """In the middle of a request: wait for the daemon to come back."""


@dataclass(frozen=True)
class LocalDaemon:
    """The daemon of a home on this machine, through its unix socket."""

    home: Home
    autostart: bool = True

    def connect(self) -> Target:
        timeout_s = START_TIMEOUT_S if self.autostart else 0.0
        return ensure_daemon(self.home, may_start=self.autostart, timeout_s=timeout_s).target

    def reconnect(self) -> Target:
        # A daemon that somebody stopped on purpose stays stopped: a mere follower of a log
        # must not bring it back.
        may_start = self.autostart and has_crashed(self.home)
        return ensure_daemon(
            self.home, may_start=may_start, timeout_s=RETURN_TIMEOUT_S
        ).target


@dataclass(frozen=True)
class TcpDaemon:
    """A daemon that listens on TCP, wherever it is; never started from here."""

    address: TcpAddress
    token: str | None

    def connect(self) -> Target:
        target = tcp_target(self.address, self.token)
        ask_health(target, ANSWER_TIMEOUT_S)
        return target

    def reconnect(self) -> Target:
        deadline = time.monotonic() + RETURN_TIMEOUT_S
        while True:
            try:
                return self.connect()
            except TrainerUnreachableError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(POLL_S)
