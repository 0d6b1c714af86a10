"""One real daemon per test that asks for it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.daemon_harness import DaemonHarness, running_daemon


@pytest.fixture
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness
