"""Reading a daemon's announcement: only that very process counts."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mosaic.client import daemon_process
from mosaic.client.daemon_process import ensure_daemon, living_daemon, stop_daemon
from mosaic.errors import TrainerUnreachableError
from mosaic.paths import Home
from mosaic.processes import identity_of
from mosaic.wire.answers import Health


@pytest.fixture
def home(tmp_path: Path) -> Home:
    home = Home(tmp_path)
    home.trainer.mkdir(parents=True)
    return home


def announce(home: Home, **changes: Any) -> None:
    identity = identity_of(os.getpid())
    assert identity is not None
    data = {**identity.to_dict(), "socket": "/x/trainer.sock", "version": "1", **changes}
    home.daemon_info.write_text(json.dumps(data))


def test_announced_living_process_is_found(home: Home) -> None:
    announce(home, addresses=["unix:/x/trainer.sock"])
    info = living_daemon(home)
    assert info is not None
    assert info.identity.pid == os.getpid()
    assert info.target.address == "unix:/x/trainer.sock"
    assert info.addresses == ("unix:/x/trainer.sock",)


@pytest.mark.parametrize(
    "changes", [{"start_ticks": 1}, {"boot_id": "another"}, {"pid": 2**22 + 1}]
)
def test_process_that_merely_has_the_number_is_not_the_daemon(
    home: Home, changes: dict[str, Any]
) -> None:
    announce(home, **changes)
    assert living_daemon(home) is None
    assert stop_daemon(home) is False


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"pid": "x"}', "null", '"text"'])
def test_broken_announcement_counts_as_none(home: Home, text: str) -> None:
    home.daemon_info.write_text(text)
    assert living_daemon(home) is None


def test_without_announcement_there_is_no_daemon(home: Home) -> None:
    assert living_daemon(home) is None
    with pytest.raises(TrainerUnreachableError, match="No daemon"):
        ensure_daemon(home, may_start=False, timeout_s=0)


def test_whoever_lost_the_race_waits_for_the_winner(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts: list[Home] = []

    class LosingStart:
        def __init__(self, home: Home, options: object) -> None:
            starts.append(home)

        def lost_the_race(self) -> bool:
            return True

    monkeypatch.setattr(daemon_process, "_Start", LosingStart)
    monkeypatch.setattr(daemon_process, "STARTING_TIMEOUT_S", 0.3)
    with pytest.raises(TrainerUnreachableError):
        ensure_daemon(home, timeout_s=0.3)
    assert len(starts) == 1


def test_a_daemon_that_takes_long_to_start_is_waited_for(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    class SlowStart:
        looks = 0

        def __init__(self, home: Home, options: object) -> None: ...

        def lost_the_race(self) -> bool:
            SlowStart.looks += 1
            if SlowStart.looks == 5:
                announce(home)
            return False

    def healthy(*_: object) -> Health:
        return Health(
            True, os.getpid(), 0.0, "1", str(home.root), (), 0, 0, (), 0.0, 1, 1, 1, 1, 0, 0
        )

    monkeypatch.setattr(daemon_process, "_Start", SlowStart)
    monkeypatch.setattr(daemon_process, "_check_folder", lambda info: None)
    monkeypatch.setattr(daemon_process, "ask_health", healthy)
    assert ensure_daemon(home, timeout_s=0.001).identity.pid == os.getpid()
