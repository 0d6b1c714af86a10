"""Where the daemon may listen beyond its unix socket, and how channels are set up."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

import grpc

from mosaic.errors import RequestError

MIB = 1024 * 1024
Options = tuple[tuple[str, int], ...]
_COMMON: Options = (
    # A peer that is gone or frozen is noticed within 30 s, also while nothing is said.
    ("grpc.keepalive_time_ms", 20_000),
    ("grpc.keepalive_timeout_ms", 10_000),
    # The limit that counts: a ping waits for its answer for a whole minute by default.
    ("grpc.http2.ping_timeout_ms", 10_000),
    ("grpc.keepalive_permit_without_calls", 1),
    ("grpc.http2.max_pings_without_data", 0),
    ("grpc.http2.min_ping_interval_without_data_ms", 10_000),
    ("grpc.http2.min_recv_ping_interval_without_data_ms", 10_000),
)
# For the daemon's server.
CHANNEL_OPTIONS: Options = (
    *_COMMON,
    # Without it gRPC lets two servers bind one port, silently.
    ("grpc.so_reuseport", 0),
    ("grpc.max_receive_message_length", 16 * MIB),
)
CLIENT_OPTIONS: Options = (
    *_COMMON,
    # The daemon is trusted, and its list of 100,000 runs is larger than any request.
    ("grpc.max_receive_message_length", 64 * MIB),
    # A new channel must not inherit the back-off of the one that lost its daemon.
    ("grpc.use_local_subchannel_pool", 1),
    ("grpc.initial_reconnect_backoff_ms", 100),
    ("grpc.max_reconnect_backoff_ms", 1_000),
    ("grpc.enable_http_proxy", 0),
)


@dataclass(frozen=True)
class TlsFiles:
    """One side of mutual TLS: our certificate and key, and who may have signed the other's."""

    certificate: Path
    key: Path
    peer_ca: Path

    def read(self) -> tuple[bytes, bytes, bytes]:
        try:
            return self.certificate.read_bytes(), self.key.read_bytes(), self.peer_ca.read_bytes()
        except OSError as error:
            raise RequestError(
                f"The TLS file {error.filename} cannot be read: {error.strerror}",
                hint="pass PEM files of a certificate, its key and the other side's CA",
            ) from error


@dataclass(frozen=True)
class TcpAddress:
    host: str
    port: int
    tls: TlsFiles | None = None

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"


def parse_tcp_address(text: str, tls: TlsFiles | None = None) -> TcpAddress:
    """HOST:PORT; refuses what other machines could reach without mutual TLS, with no override."""
    host, colon, port_text = text.strip().rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port_text.isascii() or not port_text.isdigit():
        raise RequestError(f"{text!r} is not an address", hint="write HOST:PORT, e.g. 127.0.0.1:0")
    port = int(port_text)
    if port > 65_535:
        raise RequestError(f"There is no port {port}", hint="ports go up to 65535; 0 picks one")
    # Taken literally: the hosts file could make this name mean anything.
    host = "127.0.0.1" if host == "localhost" else host
    if tls is None and not is_loopback(host):
        raise RequestError(
            f"{host} can be reached from other machines, and that needs mutual TLS",
            hint="use 127.0.0.1 (and forward it with ssh), or give certificate, key and CA",
        )
    return TcpAddress(host, port, tls)


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def server_credentials(tls: TlsFiles) -> grpc.ServerCredentials:
    certificate, key, client_ca = tls.read()
    return grpc.ssl_server_credentials(
        [(key, certificate)], root_certificates=client_ca, require_client_auth=True
    )


def channel_credentials(tls: TlsFiles) -> grpc.ChannelCredentials:
    certificate, key, server_ca = tls.read()
    return grpc.ssl_channel_credentials(server_ca, key, certificate)


def listen_on_tcp(server: grpc.aio.Server, address: TcpAddress) -> TcpAddress:
    """Bind, and return the address with the port it really got."""
    try:
        if address.tls is None:
            port = server.add_insecure_port(str(address))
        else:
            port = server.add_secure_port(str(address), server_credentials(address.tls))
    except RuntimeError as error:
        raise RequestError(
            f"The daemon cannot listen on {address}: {error}",
            hint="another program may use the port; port 0 picks a free one",
        ) from error
    return TcpAddress(address.host, port, address.tls)
