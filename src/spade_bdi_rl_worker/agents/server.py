"""Program: the embedded XMPP server of one run, on this machine only.

    python -m spade_bdi_rl_worker.agents.server FOLDER PORT PARENT

PORT 0 takes any that is free. It prints one JSON line, {"port": …} or {"error": …}, and ends with
its parent: when its stdin is closed, and by the kernel when the parent dies.

pyjabber is held to less than it would do: no address of the network, no port for other servers, no
admin page, no process pool, nothing written outside the folder, no messages kept for those who are
away (the agents send them again, see `delivery`).
"""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import uvloop
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from loguru import logger
from pyjabber import server as pyjabber_server
from pyjabber.server_parameters import Parameters

from mosaic.files import atomic_write
from spade_bdi_rl_worker.agents.child_life import end_with_parent

HOST = "localhost"
CERTIFICATE = f"{HOST}_cert.pem"
_KEY = f"{HOST}_key.pem"
_MAX_LOG_LINES = 200


def main() -> int:
    folder, port, parent = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    end_with_parent(parent)
    errors = _keep_log_short()
    try:
        make_certificate(folder)
        uvloop.run(_serve(folder, port))
    except (OSError, SystemExit) as error:
        # pyjabber logs what is wrong and leaves.
        _say({"error": errors[-1] if errors else str(error)})
    return 1


def make_certificate(folder: Path) -> None:
    """A certificate that signs itself; the agents trust this one and no other."""
    if (folder / CERTIFICATE).exists() and (folder / _KEY).exists():
        return
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    now = datetime.datetime.now(datetime.UTC)
    names = [x509.DNSName(HOST), x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=3650))
        .add_extension(x509.SubjectAlternativeName(names), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    atomic_write(folder / _KEY, private, mode=0o600)
    atomic_write(folder / CERTIFICATE, certificate.public_bytes(serialization.Encoding.PEM))


async def _serve(folder: Path, port: int) -> None:
    pyjabber_server.setup_query_local_ip = lambda: None  # or it listens on the network, too
    pyjabber_server.ProcessPoolExecutor = ThreadPoolExecutor  # no processes that outlive it
    loop = asyncio.get_running_loop()
    server = pyjabber_server.Server(
        Parameters(
            host=HOST,
            client_port=port,
            server_port=0,
            cert_path=str(folder),
            database_path=str(folder / "accounts.db"),
            message_persistence=False,
        )
    )
    server._http_server = None  # the admin page
    reader = loop.create_task(_await_end_of_stdin())
    running = loop.create_task(server.start())
    ready = loop.create_task(server.ready.wait())
    await asyncio.wait({running, ready, reader}, return_when=asyncio.FIRST_COMPLETED)
    if ready.done():
        server._server_listener.close()  # nobody of another server has business here
        _say({"port": server._client_listener.sockets[0].getsockname()[1]})
        await asyncio.wait({running, reader}, return_when=asyncio.FIRST_COMPLETED)
    elif running.done():
        _say({"error": str(running.exception() or "the server ended")})
    # Nothing is lost by going at once: accounts are in the database.
    os._exit(0 if ready.done() else 1)


async def _await_end_of_stdin() -> None:
    reader = asyncio.StreamReader()
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while await reader.read(4096):
        pass


def _keep_log_short() -> list[str]:
    """The errors that pyjabber logs: all go to the list, up to a bound, and to stderr."""
    errors: list[str] = []

    def take(message: Any) -> None:
        if len(errors) < _MAX_LOG_LINES:
            errors.append(message.record["message"])
            sys.stderr.write(str(message))

    logger.remove()
    logger.add(take, level="ERROR", format="{time} {message}")
    return errors


def _say(what: dict[str, Any]) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    sys.exit(main())
