"""What a queued run waits for is read from the daemon's own sentence."""

from __future__ import annotations

from typing import Any

import pytest

from mosaic.contracts.bundles import InstallPhase, InstallProgress
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.daemon.bundles.waiting import installing
from mosaic.gui.live.model.situation import Offer, situation_of
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.runs.model.rows import details_of, row_of
from mosaic.gui.state.awaited_bundles import (
    awaited_bundle,
    awaited_install,
    bundle_to_install,
)
from mosaic.gui.state.live_watch import LiveFrames
from tests.unit.gui.bundle_samples import SIX_PARTS, going_on
from tests.unit.gui.run_samples import over, record

NEEDED = (
    "The run needs learner+atari, which is not installed (at most 212 MB to fetch): "
    "`mosaic bundles install learner+atari`, or `mosaic stop 01SAMPLE`"
)


def queued(waiting: str, **changes: Any) -> RunRecord:
    values = {"state": RunState.INIT, "started_at": None, "progress": Progress(), **changes}
    return record(1, waiting=waiting, **values)


@pytest.mark.parametrize("name", ["learner", SIX_PARTS])
@pytest.mark.parametrize("fraction", [0.0, 0.614, 1.0])
def test_what_the_daemon_says_of_an_install_is_understood(name: str, fraction: float) -> None:
    found = awaited_install(queued(installing(name, going_on(fraction))))
    assert found is not None and found.name == name
    assert found.fraction == pytest.approx(fraction, abs=0.005)


def test_an_install_that_waits_for_another_has_no_percentage() -> None:
    waiting = InstallProgress(InstallPhase.WAITING)
    found = awaited_install(queued(installing("learner", waiting)))
    assert found is not None and found.fraction is None and found.percent == ""


def test_other_reasons_to_wait_are_no_installs() -> None:
    for text in ("", "waiting for 2 CPUs; 1 is free", "installing", "installing Not a name: 5 %"):
        assert awaited_install(queued(text)) is None and awaited_bundle(queued(text)) == ""
    assert awaited_install(over(1, waiting="installing learner: 61 %")) is None


def test_a_run_that_nobody_installs_for_names_its_bundle() -> None:
    assert awaited_bundle(queued(NEEDED)) == "learner+atari"
    assert bundle_to_install("`mosaic bundles install jax` installs it") == "jax"
    assert bundle_to_install("run `mosaic logs`") == ""


def test_the_row_shows_how_far_the_install_is() -> None:
    row = row_of(queued("installing learner+atari: 61 %"))
    assert row.installed == 0.61
    assert row.text(Column.PROGRESS) == "installing learner+atari: 61 %"
    assert row_of(queued("waiting for 2 CPUs")).installed is None
    needing = queued(NEEDED)
    assert row_of(needing).text(Column.PROGRESS) == "needs an install"
    assert NEEDED in details_of(needing), "all of it is in the tool tip"


def test_its_page_says_so_wherever_the_run_is() -> None:
    going = situation_of(queued("installing learner: 61 %"), None, False, LiveFrames())
    assert going.title == "Installing what it needs" and "learner: 61 %" in going.text
    assert going.offers == (Offer.BUNDLES,)
    needing = situation_of(queued(NEEDED), None, True, LiveFrames())
    assert needing.title == "Waits for what it needs" and "mosaic stop" not in needing.text
    assert needing.offers == (Offer.BUNDLES,)
    other = situation_of(queued("waiting for 2 CPUs"), None, True, LiveFrames())
    assert other.offers == () and other.text == "Waiting for 2 CPUs"
