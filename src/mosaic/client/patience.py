"""How long a request bears a daemon that keeps going away."""

from __future__ import annotations

import math
import time

import grpc

from mosaic.client.daemon_reach import RETURN_TIMEOUT_S
from mosaic.errors import ConfigError, TrainerUnreachableError
from mosaic.logs import get_logger
from mosaic.wire.errors import is_connection_lost, raise_from_rpc

log = get_logger(__name__)

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


class Patience:
    """One per request. Every sign of life restores it."""

    def __init__(self) -> None:
        self.has_lost = False
        self._since: float | None = None

    def restore(self) -> None:
        self._since = None

    def lose(self, error: grpc.RpcError | None = None) -> None:
        """The call broke: return to try again, or raise what it means when that is no use."""
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
