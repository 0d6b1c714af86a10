"""Who is who on the server: addresses of the agents, the server itself, passwords.

A password comes from an environment variable or a file descriptor and stays in memory; it is in no
argument of a process, in no file and in no representation of these objects.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from dataclasses import dataclass, field
from typing import Any

from mosaic.errors import ConfigError

NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")  # also an atom of AgentSpeak
DEFAULT_PORT = 5222
_MAX_SECRET_BYTES = 65_536


@dataclass(frozen=True)
class ServerAddress:
    """Where a server listens and what it calls itself."""

    host: str
    port: int
    domain: str
    # Of the embedded server: the file with its certificate, the only one that is trusted.
    certificate: str = ""
    verify: bool = True
    # Whether agents make their accounts themselves.
    registers: bool = False

    def __str__(self) -> str:
        of = f" (domain {self.domain})" if self.domain != self.host else ""
        return f"{self.host}:{self.port}{of}"


@dataclass(frozen=True)
class Account:
    """An agent's name in the team, its user on the server and its password."""

    name: str
    user: str
    domain: str
    password: str = field(repr=False)

    @property
    def address(self) -> str:
        return f"{self.user}@{self.domain}"


@dataclass(frozen=True)
class ExternalServer:
    """A server that somebody else runs; the accounts are there, or it lets agents register."""

    host: str
    port: int = DEFAULT_PORT
    domain: str = ""  # default: the host
    # Where the password is; exactly one of the two. Its text is the password of all agents, or a
    # JSON object with one for each: {"learner": "…", "coach": "…"}.
    password_variable: str = ""
    password_fd: int | None = None
    # The user of an agent is this followed by its name: "team7-" makes "team7-learner".
    user_prefix: str = ""
    verify: bool = True
    registers: bool = False

    @property
    def address(self) -> ServerAddress:
        return ServerAddress(
            self.host,
            self.port,
            self.domain or self.host,
            verify=self.verify,
            registers=self.registers,
        )


def embedded_accounts(names: list[str], domain: str) -> dict[str, Account]:
    """Accounts of one run, with passwords that nobody ever sees."""
    return {name: Account(name, name, domain, secrets.token_urlsafe(24)) for name in names}


def external_accounts(server: ExternalServer, names: list[str]) -> dict[str, Account]:
    passwords = _passwords(_secret_text(server), names)
    domain = server.domain or server.host
    return {
        name: Account(name, server.user_prefix + name, domain, passwords[name]) for name in names
    }


def _secret_text(server: ExternalServer) -> str:
    if bool(server.password_variable) == (server.password_fd is not None):
        raise ConfigError(
            "the password of the XMPP accounts has to come from an environment variable or from a"
            " file descriptor",
            hint="name one of the two",
            field="xmpp.password_variable",
        )
    if server.password_variable:
        text = os.environ.get(server.password_variable, "")
        if not text:
            raise ConfigError(
                f"the environment variable {server.password_variable} holds no password",
                hint="set it to the password of the XMPP accounts",
                field="xmpp.password_variable",
            )
        return text
    assert server.password_fd is not None
    try:
        return _read_all(server.password_fd).decode().strip("\r\n")
    except (OSError, ValueError) as error:
        raise ConfigError(
            f"the password cannot be read from file descriptor {server.password_fd}: {error}",
            field="xmpp.password_fd",
        ) from error


def _read_all(fd: int) -> bytes:
    text = b""
    while chunk := os.read(fd, 4096):
        text += chunk
        if len(text) > _MAX_SECRET_BYTES:
            raise ValueError(f"more than {_MAX_SECRET_BYTES} bytes")
    return text


def _passwords(text: str, names: list[str]) -> dict[str, str]:
    if not text.lstrip().startswith("{"):
        return dict.fromkeys(names, text)
    try:
        given: Any = json.loads(text)
    except ValueError:
        return dict.fromkeys(names, text)  # a password may begin with a brace
    missing = [name for name in names if not isinstance(given.get(name), str)]
    if missing:
        raise ConfigError(
            f"the passwords of the XMPP accounts lack one for {', '.join(missing)}",
            field="xmpp.password_variable",
        )
    return {name: given[name] for name in names}
