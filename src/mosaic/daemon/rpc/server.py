"""Starts the daemon: lock first, then recovery, then sockets; ends without touching any run."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import json
import os
import secrets
import signal
import time
from dataclasses import dataclass

import grpc

from mosaic import __version__
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.rpc.service import TrainerService
from mosaic.daemon.trainer.trainer import Trainer
from mosaic.errors import DaemonConflictError, HomeError
from mosaic.files import atomic_write, atomic_write_json
from mosaic.logs import get_logger
from mosaic.paths import Home
from mosaic.private_folder import PrivateFolder
from mosaic.processes import ProcessIdentity, identity_of, is_alive
from mosaic.wire.auth import TokenInterceptor
from mosaic.wire.errors import ErrorInterceptor
from mosaic.wire.generated.trainer_pb2_grpc import add_TrainerServicer_to_server
from mosaic.wire.server_address import CHANNEL_OPTIONS, TcpAddress, listen_on_tcp

log = get_logger(__name__)

SHUTDOWN_TIMEOUT_S = 2.0
# How long the holder of the lock may take to sign it.
SIGNATURE_TIMEOUT_S = 1.0


@dataclass(frozen=True)
class DaemonOptions:
    home: Home
    tcp: TcpAddress | None = None
    min_free_mb: int = 200


async def serve(options: DaemonOptions) -> None:
    home = options.home
    home.create()
    lock = take_lock(home)
    try:
        registry = await Registry.open(home)
        trainer = Trainer(home, registry, options.min_free_mb)
        try:
            await trainer.start()
            await _serve_until_told(options, trainer)
        finally:
            await trainer.close()
    finally:
        os.close(lock)


def take_lock(home: Home) -> int:
    """One daemon per home. Taken before any socket is bound: gRPC would let two bind one path."""
    try:
        fd = os.open(home.daemon_lock, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise HomeError(
            f"The home directory {home.root} cannot be used: {error.strerror}",
            hint="make it writable, or set MOSAIC_HOME to another directory",
        ) from error
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder_of(fd)
        os.close(fd)
        raise DaemonConflictError(
            f"Another daemon (pid {holder}) already serves {home.root}",
            hint="use it, or stop it with `mosaic daemon stop`",
            pid=holder,
        ) from None
    _sign(fd)
    return fd


def _sign(fd: int) -> None:
    """Write into the lock who holds it; the announcement comes only once we listen."""
    identity = identity_of(os.getpid())
    with contextlib.suppress(OSError):  # no room on the disk: the lock holds all the same
        os.ftruncate(fd, 0)
        os.pwrite(fd, json.dumps(identity.to_dict() if identity else {}).encode(), 0)


def _holder_of(fd: int) -> int | str:
    """The living process that signed the lock; the name of a dead one is about to be replaced."""
    deadline = time.monotonic() + SIGNATURE_TIMEOUT_S
    while time.monotonic() < deadline:
        with contextlib.suppress(ValueError, KeyError, TypeError):
            holder = ProcessIdentity.from_dict(json.loads(os.pread(fd, 4096, 0)))
            if is_alive(holder):
                return holder.pid
        time.sleep(0.01)
    return "unknown"


async def _serve_until_told(options: DaemonOptions, trainer: Trainer) -> None:
    home = options.home
    token = secrets.token_hex(32)
    server = grpc.aio.server(
        interceptors=[ErrorInterceptor(), TokenInterceptor(token)], options=CHANNEL_OPTIONS
    )
    service = TrainerService(trainer)
    await service.warm_up()
    add_TrainerServicer_to_server(service, server)
    with PrivateFolder.make(home.runtime) as runtime:
        runtime.remove(home.daemon_socket.name)
        server.add_insecure_port(f"unix:{home.daemon_socket}")
        # Not by umask, which would touch files of other threads.
        os.chmod(home.daemon_socket.name, 0o600, dir_fd=runtime.fd)
    trainer.addresses.append(f"unix:{home.daemon_socket}")
    if options.tcp is not None:
        atomic_write(home.daemon_token, token.encode())
        trainer.addresses.append(str(listen_on_tcp(server, options.tcp)))
    await server.start()
    ending = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, ending.set)
    # Only now: whoever hears of us may tell us to end, and we must not leave a socket behind.
    _announce(home, trainer)
    log.info("daemon.started", pid=os.getpid(), addresses=trainer.addresses)
    await ending.wait()
    log.info("daemon.stopped", live_runs=trainer.health()["live_runs"])
    home.daemon_info.unlink(missing_ok=True)
    home.daemon_token.unlink(missing_ok=True)
    await server.stop(SHUTDOWN_TIMEOUT_S)
    home.daemon_socket.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # it still holds the sockets of live runs
        home.runtime.rmdir()


def _announce(home: Home, trainer: Trainer) -> None:
    identity = identity_of(os.getpid())
    atomic_write_json(
        home.daemon_info,
        {
            **(identity.to_dict() if identity else {}),
            "socket": str(home.daemon_socket),
            "addresses": trainer.addresses,
            "version": __version__,
            "started_at": time.time(),
        },
    )
