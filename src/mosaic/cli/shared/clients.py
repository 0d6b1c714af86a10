"""What every command needs: the home it works in and a client of the right daemon."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mosaic.errors import RequestError

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.client.async_trainer_client import AsyncTrainerClient
    from mosaic.paths import Home
    from mosaic.wire.server_address import TlsFiles

ADDRESS_VARIABLE = "MOSAIC_ADDRESS"
TOKEN_VARIABLE = "MOSAIC_DAEMON_TOKEN_FILE"
TLS_VARIABLES = ("MOSAIC_TLS_CERT", "MOSAIC_TLS_KEY", "MOSAIC_TLS_CA")


def home_of(arguments: argparse.Namespace) -> Home:
    from mosaic.paths import Home

    chosen: str | None = arguments.home
    return Home(Path(chosen).expanduser().absolute()) if chosen else Home.current()


def open_client(arguments: argparse.Namespace, autostart: bool = True) -> TrainerClient:
    """The daemon of the home; with $MOSAIC_ADDRESS, the one that listens there."""
    from mosaic.client import TrainerClient

    remote = _remote_daemon(arguments)
    if remote is None:
        return TrainerClient(home_of(arguments), autostart=autostart)
    return TrainerClient(address=remote.address, token=remote.token, tls=remote.tls)


def async_client_opener(
    arguments: argparse.Namespace,
) -> tuple[Callable[[], AsyncTrainerClient], bool]:
    """How to open an asynchronous client of the same daemon, and whether that is a remote one."""
    from mosaic.client.async_trainer_client import AsyncTrainerClient

    remote = _remote_daemon(arguments)
    if remote is None:
        home = home_of(arguments)
        return lambda: AsyncTrainerClient(home, wakes=False), False
    address, token, tls = remote
    return lambda: AsyncTrainerClient(address=address, token=token, tls=tls), True


def is_remote(arguments: argparse.Namespace) -> bool:
    """Whether the daemon is that of another home, or of another machine: paths are its own."""
    return bool(os.environ.get(ADDRESS_VARIABLE)) and not arguments.home


class _RemoteDaemon(NamedTuple):
    address: str
    token: str
    tls: TlsFiles | None


def _remote_daemon(arguments: argparse.Namespace) -> _RemoteDaemon | None:
    address = os.environ.get(ADDRESS_VARIABLE)
    if not address or not is_remote(arguments):
        return None
    token_file = Path(os.environ.get(TOKEN_VARIABLE) or home_of(arguments).daemon_token)
    try:
        token = token_file.read_text().strip()
    except OSError as error:
        raise RequestError(
            f"The token for {address} cannot be read from {token_file}: {error.strerror}",
            hint=f"set {TOKEN_VARIABLE} to a copy of the daemon's daemon.token",
        ) from error
    return _RemoteDaemon(address, token, _tls_files())


def _tls_files() -> TlsFiles | None:
    from mosaic.wire.server_address import TlsFiles

    values = [os.environ.get(name) for name in TLS_VARIABLES]
    if not any(values):
        return None
    if not all(values):
        raise RequestError(f"TLS needs all of {', '.join(TLS_VARIABLES)}")
    certificate, key, authority = (Path(value or "") for value in values)
    return TlsFiles(certificate, key, authority)
