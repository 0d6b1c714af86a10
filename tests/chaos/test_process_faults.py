"""Workers and run hosts that are killed, stopped or become zombies (faults 1, 1b, 3, 21, 23)."""

from __future__ import annotations

import pytest

from tests.chaos.chaos_daemon import SLEEPER, chaos_daemon
from tests.chaos.figures import record

pytestmark = pytest.mark.chaos


def test_smoke() -> None:
    with chaos_daemon() as daemon:
        run = daemon.submit_python(SLEEPER)
        print(daemon.live(run))
        record("0", "x")
