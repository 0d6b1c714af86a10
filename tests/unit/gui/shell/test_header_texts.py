"""The words about the daemon and about what the machine has left."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mosaic.gui.shell.model import header_texts as texts
from mosaic.gui.state.workbench_state import Connection, WorkbenchState
from mosaic.wire.answers import Health

HEALTH = Health(
    healthy=True,
    pid=4711,
    started_at=1000.0,
    version="0.1.0",
    home="/home",
    addresses=(),
    live_runs=1,
    queued_runs=2,
    alarms=(),
    rss_mb=58.4,
    cpus_total=16,
    cpus_free=14,
    memory_mb_total=64000,
    memory_mb_free=32000,
    gpus_total=0,
    gpus_free=0,
)


def test_the_tooltip_says_which_daemon_it_is_and_how_it_does() -> None:
    text = texts.daemon_tooltip(Connection.ONLINE, "", HEALTH, now=1000.0 + 3 * 3600)
    assert "pid 4711" in text
    assert "up for 3 h" in text
    assert "58 MB" in text
    assert "1 run at work, 2 waiting" in text


def test_an_alarm_of_the_daemon_is_in_the_tooltip() -> None:
    health = replace(HEALTH, alarms=("the disk is full",))
    assert "Alarm: the disk is full" in texts.daemon_tooltip(Connection.ONLINE, "", health)


def test_a_lost_daemon_is_told_with_its_problem() -> None:
    assert texts.daemon_tooltip(Connection.LOST, "silent for 3 s", HEALTH).endswith(
        "silent for 3 s"
    )


def test_slots_and_gpus() -> None:
    assert texts.cpus_text(HEALTH) == "CPU 14/16"
    assert texts.gpus_text(HEALTH) == "GPU –"
    assert texts.gpus_text(replace(HEALTH, gpus_total=2, gpus_free=1)) == "GPU 1/2"
    assert texts.cpus_text(None) == "CPU –" and texts.gpus_text(None) == "GPU –"


@pytest.mark.parametrize(
    ("free", "text"),
    [
        (None, "disk –"),
        (512e6, "disk 512 MB"),
        (1.34e9, "disk 1.3 GB"),
        (78.4e9, "disk 78 GB"),
        (9.96e9, "disk 10 GB"),
        (3.21e12, "disk 3.2 TB"),
    ],
)
def test_free_disk_is_short(free: float | None, text: str) -> None:
    assert texts.disk_text(free) == text
    assert len(text) <= len(texts.WIDEST_DISK)


def test_the_banner_says_what_goes_on() -> None:
    lost = texts.banner_text(Connection.LOST, "silent for 4 s", is_stopped=False)
    assert lost.text == (
        "The daemon does not answer (silent for 4 s). Trying again; runs are not affected."
    )
    assert not lost.can_start


def test_a_daemon_that_was_stopped_can_be_started() -> None:
    assert texts.banner_text(Connection.LOST, "it was stopped", is_stopped=True).can_start


@pytest.mark.parametrize("connection", [Connection.ONLINE, Connection.CONNECTING])
def test_there_is_no_banner_while_nothing_is_lost(connection: Connection) -> None:
    assert texts.banner_text(connection, "", is_stopped=False).text == ""


def test_being_stopped_ends_when_the_daemon_is_back() -> None:
    state = WorkbenchState()
    heard: list[str] = []
    state.connection_changed.connect(heard.append)
    state.set_connection(Connection.LOST, "it was stopped", is_stopped=True)
    assert state.is_daemon_stopped
    state.set_connection(Connection.ONLINE)
    assert not state.is_daemon_stopped
    assert heard == ["lost", "online"]
