"""Identity of processes: never a stranger with the same pid."""

from __future__ import annotations

import os
import signal

import pytest

from mosaic.processes import identity_of, is_alive, open_pidfd, send_signal


def test_we_are_alive_and_identifiable() -> None:
    me = identity_of(os.getpid())
    assert me is not None
    assert is_alive(me)


def test_another_start_time_is_another_process() -> None:
    me = identity_of(os.getpid())
    assert me is not None
    stranger = me._replace(start_ticks=me.start_ticks - 1)
    assert not is_alive(stranger)
    assert open_pidfd(stranger) is None
    assert send_signal(stranger, signal.SIGKILL) is False  # we would not get here otherwise


def test_another_boot_is_another_process(monkeypatch: pytest.MonkeyPatch) -> None:
    me = identity_of(os.getpid())
    assert me is not None
    monkeypatch.setenv("MOSAIC_FAKE_BOOT_ID", "after-the-reboot")
    assert not is_alive(me)


def test_a_pid_nobody_has_is_nobody() -> None:
    assert identity_of(2**22 + 1) is None
