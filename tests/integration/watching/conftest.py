"""`mosaic watch` in a folder of its own, with one real daemon for the tests of a module."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon_harness import DaemonHarness, running_daemon
from tests.integration.watching.watch_harness import Watcher


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon(MOSAIC_HEARTBEAT_S="0.2") as harness:
        yield harness


@pytest.fixture
def mosaic(daemon: DaemonHarness, tmp_path: Path) -> Watcher:
    return Watcher(daemon, tmp_path)
