"""How a client gets to its daemon, at first and after losing it, and how long it tries."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import grpc

from mosaic.client.channel import Target, ask_health, tcp_target
from mosaic.client.daemon_process import ANSWER_TIMEOUT_S, POLL_S, START_TIMEOUT_S, ensure_daemon
from mosaic.errors import ConfigError, TrainerUnreachableError
from mosaic.logs import get_logger
from mosaic.paths import Home
from mosaic.wire.errors import is_connection_lost, raise_from_rpc
from mosaic.wire.server_address import TcpAddress, TlsFiles, parse_tcp_address

log = get_logger(__name__)

# How long a client waits for a daemon it has lost, and for one that said goodbye.
RETURN_TIMEOUT_S = 30.0
GOODBYE_TIMEOUT_S = 10.0


class DaemonConnector(Protocol):
    """Both methods block, and raise TrainerUnreachableError when time runs out."""

    def connect(self, may_wake: bool = True) -> Target:
        """For a new request. `may_wake`: also a daemon that was stopped on purpose."""

    def reconnect(self, may_wake: bool) -> Target:
        """In the middle of a request: wait for the daemon to come back."""


@dataclass(frozen=True)
class LocalDaemon:
    """The daemon of a home on this machine, through its unix socket."""

    home: Home
    autostart: bool = True

    def connect(self, may_wake: bool = True) -> Target:
        may_start = self.autostart and (may_wake or not self._was_stopped)
        timeout_s = START_TIMEOUT_S if may_start else 0.0
        return ensure_daemon(self.home, may_start=may_start, timeout_s=timeout_s).target

    def reconnect(self, may_wake: bool) -> Target:
        was_stopped = self._was_stopped
        may_start = self.autostart and (may_wake or not was_stopped)
        timeout_s = GOODBYE_TIMEOUT_S if was_stopped else RETURN_TIMEOUT_S
        return ensure_daemon(self.home, may_start=may_start, timeout_s=timeout_s).target

    @property
    def _was_stopped(self) -> bool:
        """One that was killed leaves its announcement behind."""
        return not self.home.daemon_info.exists()


@dataclass(frozen=True)
class TcpDaemon:
    """A daemon that listens on TCP, wherever it is; never started from here."""

    address: TcpAddress
    token: str | None

    def connect(self, may_wake: bool = True) -> Target:
        target = tcp_target(self.address, self.token)
        ask_health(target, ANSWER_TIMEOUT_S)
        return target

    def reconnect(self, may_wake: bool) -> Target:
        deadline = time.monotonic() + RETURN_TIMEOUT_S
        while True:
            try:
                return self.connect()
            except TrainerUnreachableError:
                if time.monotonic() > deadline:
                    raise
            time.sleep(POLL_S)


def choose_connector(
    home: Home | Path | str | None,
    autostart: bool,
    address: str | None,
    token: str | None,
    tls: TlsFiles | None,
) -> DaemonConnector:
    """TCP when an address is given, the unix socket of the home otherwise."""
    if address is not None:
        return TcpDaemon(parse_tcp_address(address, tls), token)
    if home is None:
        home = Home.current()
    elif not isinstance(home, Home):
        home = Home(Path(home).expanduser().absolute())
    return LocalDaemon(home, autostart)


PAUSE_S = 0.05
# gRPC takes much longer times, and infinity, for times long past.
LONGEST_WAIT_S = 10 * 365 * 86_400.0


def checked_timeout(timeout: float | None) -> float | None:
    """In seconds, None for no limit."""
    if timeout is None or timeout > LONGEST_WAIT_S:
        return None
    if math.isnan(timeout):
        raise ConfigError("timeout is nan; it must be a number of seconds", field="timeout")
    return timeout


class RetryBudget:
    """One per request. Every sign of life restores it."""

    def __init__(self) -> None:
        self.has_lost = False
        self._since: float | None = None

    def restore(self) -> None:
        self._since = None

    def spend(self, error: grpc.RpcError | None = None) -> None:
        """The call broke: return to try again, or raise the error when that is useless."""
        if error is not None and not is_connection_lost(error):
            raise_from_rpc(error)
        now = time.monotonic()
        self._since = self._since if self._since is not None else now
        if now - self._since > RETURN_TIMEOUT_S:
            if error is not None:
                raise_from_rpc(error)
            raise TrainerUnreachableError("The daemon ends every stream at once")
        self.has_lost = True
        log.info("connection.lost", error=str(error.details()) if error else "stream ended")
