"""Addresses: what is understood, and what is refused because others could reach it."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.errors import RequestError
from mosaic.wire.auth import TokenInterceptor, bearer_metadata
from mosaic.wire.server_address import (
    CHANNEL_OPTIONS,
    TcpAddress,
    TlsFiles,
    parse_tcp_address,
    server_credentials,
)

TLS = TlsFiles(Path("cert.pem"), Path("key.pem"), Path("ca.pem"))


@pytest.mark.parametrize(
    ("text", "expected", "shown"),
    [
        ("127.0.0.1:0", TcpAddress("127.0.0.1", 0), "127.0.0.1:0"),
        ("localhost:50055", TcpAddress("127.0.0.1", 50055), "127.0.0.1:50055"),
        ("127.9.9.9:80", TcpAddress("127.9.9.9", 80), "127.9.9.9:80"),
        ("[::1]:80", TcpAddress("::1", 80), "[::1]:80"),
    ],
)
def test_loopback_is_accepted(text: str, expected: TcpAddress, shown: str) -> None:
    assert parse_tcp_address(text) == expected
    assert str(parse_tcp_address(text)) == shown


@pytest.mark.parametrize(
    "host",
    ["0.0.0.0", "[::]", "10.0.0.1", "example.org", "localhost.example.org", "127.0.0.1.nip.io",
     "[::ffff:10.0.0.1]", "2130706433", "0x7f.1"],
)  # fmt: skip
def test_what_others_can_reach_needs_mutual_tls(host: str) -> None:
    with pytest.raises(RequestError, match="mutual TLS") as caught:
        parse_tcp_address(f"{host}:50055")
    assert "ssh" in caught.value.hint
    assert parse_tcp_address(f"{host}:50055", TLS).tls is TLS


@pytest.mark.parametrize(
    "text",
    ["", ":", "50055", "127.0.0.1", "127.0.0.1:", ":80", "127.0.0.1:-1", "a:b", "127.0.0.1:８"],
)
def test_nonsense_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(RequestError) as caught:
        parse_tcp_address(text)
    assert "HOST:PORT" in caught.value.hint


def test_port_out_of_range_is_refused() -> None:
    with pytest.raises(RequestError, match="65536"):
        parse_tcp_address("127.0.0.1:65536")


def test_missing_tls_file_is_named() -> None:
    with pytest.raises(RequestError, match=r"cert\.pem"):
        server_credentials(TLS)


def test_port_is_never_shared_and_messages_are_bounded() -> None:
    options = dict(CHANNEL_OPTIONS)
    assert options["grpc.so_reuseport"] == 0
    assert options["grpc.max_receive_message_length"] == 16 * 1024 * 1024


def test_empty_token_is_no_token() -> None:
    assert bearer_metadata("") == ()
    with pytest.raises(ValueError, match="everybody"):
        TokenInterceptor("")
