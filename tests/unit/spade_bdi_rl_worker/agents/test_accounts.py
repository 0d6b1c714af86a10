"""Passwords come from a variable or a descriptor, and are shown nowhere."""

from __future__ import annotations

import os

import pytest

from mosaic.errors import ConfigError
from spade_bdi_rl_worker.agents.accounts import (
    ExternalServer,
    embedded_accounts,
    external_accounts,
)

NAMES = ["learner", "coach"]


def test_accounts_of_the_embedded_server_have_passwords_nobody_sees() -> None:
    accounts = embedded_accounts(NAMES, "localhost")
    assert accounts["coach"].address == "coach@localhost"
    assert len({account.password for account in accounts.values()}) == 2
    assert accounts["coach"].password not in repr(accounts)


def test_one_password_for_all_or_one_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    server = ExternalServer(
        "xmpp.example", domain="lab", password_variable="XMPP_SECRET", user_prefix="t7-"
    )
    monkeypatch.setenv("XMPP_SECRET", "{not json")
    accounts = external_accounts(server, NAMES)
    assert accounts["learner"].address == "t7-learner@lab"
    assert {account.password for account in accounts.values()} == {"{not json"}
    monkeypatch.setenv("XMPP_SECRET", '{"learner": "a", "coach": "b"}')
    assert external_accounts(server, NAMES)["coach"].password == "b"
    monkeypatch.setenv("XMPP_SECRET", '{"learner": "a"}')
    with pytest.raises(ConfigError, match="lack one for coach"):
        external_accounts(server, NAMES)
    monkeypatch.delenv("XMPP_SECRET")
    with pytest.raises(ConfigError, match="XMPP_SECRET holds no password") as caught:
        external_accounts(server, NAMES)
    assert caught.value.details["field"] == "xmpp.password_variable"


def test_a_password_by_descriptor() -> None:
    reading, writing = os.pipe()
    os.write(writing, b"secret\n")
    os.close(writing)
    server = ExternalServer("host", password_fd=reading)
    try:
        assert external_accounts(server, NAMES)["learner"].password == "secret"
    finally:
        os.close(reading)
    with pytest.raises(ConfigError, match="cannot be read from file descriptor"):
        external_accounts(server, NAMES)


@pytest.mark.parametrize("fd", [None, 3])
def test_a_password_comes_from_exactly_one_place(fd: int | None) -> None:
    server = ExternalServer("host", password_fd=fd, password_variable="X" if fd else "")
    with pytest.raises(ConfigError, match="environment variable or from a file descriptor"):
        external_accounts(server, NAMES)
