"""An agent's connection to its XMPP server: made again whenever it is lost.

SPADE connects once and never again. Here every attempt has a client of its own and a bound on its
time: a handshake that hangs on a busy machine is given up and tried anew.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from spade.xmpp_client import XMPPClient

from spade_bdi_rl_worker.agents.accounts import Account, ServerAddress

ATTEMPT_S = 8.0
BACKOFF_S = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
REMIND_S = 60.0
_REASON_S = 0.3


class PasswordRefusedError(Exception):
    """The server does not take the account's password."""


class UnreachableError(Exception):
    """Nothing answers at the address, or what answers is no XMPP server."""


class UntrustedServerError(UnreachableError):
    """The server's certificate is not to be trusted."""


class Connection:
    """`on_message` gets each message; `on_connected` is called after each new connection."""

    def __init__(
        self,
        account: Account,
        server: ServerAddress,
        on_message: Callable[[Any], None],
        on_connected: Callable[[Any], None],
        note: Callable[[str], None],
    ) -> None:
        self.account = account
        self.server = server
        self.client: Any = None
        self.reconnects = 0
        self._on_message = on_message
        self._on_connected = on_connected
        self._note = note
        self._again: asyncio.Task[None] | None = None
        self._is_closed = False
        self.failure: Exception | None = None
        self.on_failure: Callable[[], None] = lambda: None

    @property
    def is_connected(self) -> bool:
        return self.client is not None

    async def open(self, patience_s: float) -> None:
        """Connect for the first time. Raises PasswordRefusedError or UnreachableError."""
        deadline = time.monotonic() + patience_s
        for delay in _delays():
            try:
                await self._attempt()
                return
            except UntrustedServerError:
                raise
            except UnreachableError:
                if time.monotonic() + delay > deadline:
                    raise
            await asyncio.sleep(delay)

    def move(self, server: ServerAddress) -> None:
        """The server is somewhere else from now on."""
        self.server = server

    def send(self, stanza: Any) -> bool:
        """Whether there is a connection to send it over; that it arrives is not said."""
        if self.client is None:
            return False
        stanza.send()
        return True

    async def close(self) -> None:
        self._is_closed = True
        if self._again is not None:
            self._again.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._again
        client, self.client = self.client, None
        if client is not None:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(client.disconnect(wait=0.5), 2.0)
            _discard(client)

    async def _attempt(self) -> None:
        client = self._new_client()
        loop = asyncio.get_running_loop()
        outcome: asyncio.Future[str] = loop.create_future()

        def settle(name: str) -> Callable[[Any], None]:
            def handler(event: Any) -> None:
                # Why a connection was closed may be told a moment after it was.
                delay = _REASON_S if name == "closed" else 0.0
                loop.call_later(delay, set_result, f"{name}: {event}" if name == "failed" else name)

            return handler

        def set_result(result: str) -> None:
            if not outcome.done():
                outcome.set_result(result)

        client.add_event_handler("session_start", settle("connected"))
        client.add_event_handler("failed_all_auth", settle("refused"))
        client.add_event_handler("connection_failed", settle("failed"))
        client.add_event_handler("ssl_invalid_chain", settle("untrusted"))
        client.add_event_handler("disconnected", settle("closed"))
        client.add_event_handler("message", self._on_message)
        client.connect(host=self.server.host, port=self.server.port)
        try:
            result = await asyncio.wait_for(outcome, ATTEMPT_S)
        except TimeoutError:
            result = "silent"
        except asyncio.CancelledError:
            _discard(client)
            raise
        if result == "connected":
            self.client = client
            client.add_event_handler("disconnected", lambda _: self._lost(client))
            self._on_connected(client)
            return
        _discard(client)
        if result == "refused":
            raise PasswordRefusedError(
                f"the XMPP server {self.server} refuses the password of {self.account.address}"
            )
        if result == "untrusted":
            raise UntrustedServerError(
                f"the certificate of the XMPP server {self.server} is not signed by anybody this"
                " machine trusts"
            )
        reason = {
            "silent": f"it does not answer within {ATTEMPT_S:.0f} seconds",
            "closed": "it closed the connection",
        }.get(result, result.removeprefix("failed: "))
        raise UnreachableError(f"no connection to the XMPP server {self.server}: {reason}")

    def _new_client(self) -> Any:
        account, server = self.account, self.server
        client = XMPPClient(account.address, account.password, server.verify, server.registers)
        client.enable_direct_tls = False
        client.enable_plaintext = False
        if server.certificate:
            # No other certificate than the one in the run's folder; whom it names does not matter.
            client.ca_certs = Path(server.certificate)
            client.ssl_context.check_hostname = False
            client.ssl_context.verify_mode = ssl.CERT_REQUIRED
        return client

    def _lost(self, client: Any) -> None:
        if self._is_closed or client is not self.client:
            return
        self.client = None
        _discard(client)
        self._note(f"{self.account.name} lost the connection to the XMPP server")
        self._again = asyncio.get_running_loop().create_task(self._reconnect())

    async def _reconnect(self) -> None:
        started = reminded = time.monotonic()
        for delay in _delays():
            await asyncio.sleep(delay)
            try:
                await self._attempt()
            except UnreachableError as error:
                if time.monotonic() - reminded > REMIND_S:
                    reminded = time.monotonic()
                    minutes, name = (reminded - started) / 60, self.account.name
                    self._note(f"{name} has been without its server for {minutes:.0f} min: {error}")
                continue
            except PasswordRefusedError as error:
                self.failure = error
                self.on_failure()
                return
            self.reconnects += 1
            seconds = time.monotonic() - started
            self._note(f"{self.account.name} is connected again after {seconds:.1f} s")
            return


def _delays() -> Any:
    yield from BACKOFF_S
    while True:
        yield BACKOFF_S[-1]


def _discard(client: Any) -> None:
    """An old client would try to connect on its own for ever."""
    client.cancel_connection_attempt()
    client.abort()
    sender = client._run_out_filters
    if sender is not None:
        sender.cancel()
