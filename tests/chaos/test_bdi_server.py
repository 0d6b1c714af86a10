"""The embedded XMPP server of the BDI worker, started and stopped beside busy processes."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.chaos.extent import extent
from tests.chaos.figures import record
from tests.integration.bdi.bundle_python import run_program

pytestmark = pytest.mark.chaos

BUSY = 2
SECONDS_EACH = 60.0


@pytest.mark.timeout(extent(200, 10) * SECONDS_EACH)
@pytest.mark.blocks_merge
def test_no_start_hangs_and_no_stop_leaves_anything(tmp_path: Path) -> None:
    count = extent(200, 10)
    told = run_program("starts_and_stops", count, tmp_path, BUSY, timeout_s=count * SECONDS_EACH)
    assert told["count"] == count
    assert told["children"] == [] and told["descriptors_more"] <= 0
    record(
        "18",
        f"XMPP server started and stopped beside {BUSY} busy processes — {count}/{count}: up after"
        f" {told['median_up_s']:.1f} s (slowest {told['slowest_up_s']:.1f}), an agent connected"
        f" after {told['median_connected_s']:.1f} s (slowest {told['slowest_connected_s']:.1f}),"
        " 0 processes and descriptors left",
    )
