"""Certificates for mutual TLS, made with the `openssl` program."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from mosaic.wire.server_address import TlsFiles


class Authority:
    """A certificate authority that signs for this machine's loopback address."""

    def __init__(self, folder: Path) -> None:
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not installed: no certificates for mutual TLS")
        folder.mkdir()
        self._folder = folder
        self.certificate = folder / "ca.pem"
        self._key = folder / "ca.key"
        _openssl(
            *("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", "-subj", "/CN=ca"),
            *("-keyout", str(self._key), "-out", str(self.certificate)),
        )

    def issue(self, name: str, peer_ca: Path | None = None) -> TlsFiles:
        """A certificate of our own; `peer_ca` is whom its owner trusts, ourselves by default."""
        key, request, certificate = (
            self._folder / f"{name}.{end}" for end in ("key", "csr", "pem")
        )
        extensions = self._folder / f"{name}.ext"
        extensions.write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
        _openssl(
            *("req", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}"),
            *("-keyout", str(key), "-out", str(request)),
        )
        _openssl(
            *("x509", "-req", "-in", str(request), "-days", "1", "-CAcreateserial"),
            *("-CA", str(self.certificate), "-CAkey", str(self._key)),
            *("-extfile", str(extensions), "-out", str(certificate)),
        )
        return TlsFiles(certificate, key, peer_ca or self.certificate)


def _openssl(*arguments: str) -> None:
    subprocess.run(["openssl", *arguments], check=True, capture_output=True)
