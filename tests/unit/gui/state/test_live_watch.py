"""How well a run is watched, in numbers, and what the FastLane tab says of it."""

from __future__ import annotations

import pytest

from mosaic.fastlane.slot_writer import Metrics
from mosaic.gui.live.model.table import connection_word, facts_of, rows_of, why_no_frames
from mosaic.gui.state.live_watch import LiveFrames, LiveViewer, LiveWatch, Tile
from tests.unit.gui.run_samples import over, record

RUN = record().run_id


def frames(*counts: int) -> LiveFrames:
    tiles = tuple(Tile(slot, None, Metrics(), count) for slot, count in enumerate(counts))
    return LiveFrames("live", "", tiles, slot_limit=8)


@pytest.fixture
def watch() -> LiveWatch:
    made = LiveWatch()
    made.begin(LiveViewer.CENTRE, RUN)
    return made


def test_frames_a_second_shown_and_published(watch: LiveWatch) -> None:
    for tick in range(11):  # a second: ten arrive, and another ten are made in between
        watch.take(frames(2 * tick, 100 + 2 * tick), tick / 10)
    assert watch.shown_fps(1.0) == pytest.approx(10)
    assert watch.published_fps(1.0) == pytest.approx(20)
    assert watch.dropped == 20


def test_what_was_published_before_anybody_looked_is_not_dropped(watch: LiveWatch) -> None:
    watch.take(frames(5000), 0.0)
    watch.take(frames(5001), 0.1)
    assert watch.dropped == 0


def test_rates_end_when_nothing_comes_any_more(watch: LiveWatch) -> None:
    watch.take(frames(1), 0.0)
    watch.take(frames(2), 1.0)
    assert watch.shown_fps(1.0) > 0
    assert watch.shown_fps(60.0) == 0


def test_another_attempt_counts_anew(watch: LiveWatch) -> None:
    watch.take(frames(10), 0.0)
    watch.take(frames(90), 0.1)
    watch.take(frames(1), 0.2)
    watch.take(frames(2), 0.3)
    assert watch.dropped == 0


def test_who_was_taken_over_from_ends_nothing(watch: LiveWatch) -> None:
    watch.begin(LiveViewer.TAB, RUN)
    watch.begin(LiveViewer.CENTRE, RUN)
    watch.end(LiveViewer.TAB)
    assert watch.is_watching(LiveViewer.CENTRE, RUN)
    watch.end(LiveViewer.CENTRE)
    assert watch.watcher is LiveViewer.NOBODY


def test_a_row_for_each_environment() -> None:
    metrics = Metrics(98_305, 286, 1.0, 500.0, 6_700.0)
    (row,) = rows_of(LiveFrames("live", "", (Tile(3, None, metrics, 9, 4711),)))
    assert row.cells == ("3", "98,305", "286", "1.000", "500.0", "6.7k/s")
    assert "process 4711" in row.help


def test_the_facts_name_the_segment_and_the_rates(watch: LiveWatch) -> None:
    for tick in range(11):
        watch.take(frames(tick), tick / 10)
    facts = {name: value for name, value, _ in facts_of(record(), watch, 1.0)}
    assert facts["Environments"] == "1 of 8"
    assert facts["Shown"] == facts["Published"] == "10.0 fps"
    assert facts["Left out"] == "0"
    assert facts["Segment"].endswith(RUN)


def test_the_cost_is_what_the_run_was_allowed() -> None:
    run = record(config={"environment": {"CLEANRL_FASTLANE_BUDGET": "0.1"}})
    facts = {name: value for name, value, _ in facts_of(run, LiveWatch(), 0.0)}
    assert "10.0%" in facts["Cost"] and facts["Shown"] == "–"


def test_figures_of_another_run_are_not_shown(watch: LiveWatch) -> None:
    watch.take(frames(1), 0.0)
    facts = {name: value for name, value, _ in facts_of(record(2), watch, 0.0)}
    assert facts["Environments"] == facts["Shown"] == "–"
    assert connection_word(record(2), watch) == "not watched"
    assert connection_word(record(), watch) == "live"


def test_why_a_run_has_no_live_frames() -> None:
    here = {"run_directory": "/somewhere"}
    assert why_no_frames(record(paths=here)) is None
    for run, title in (
        (over(paths=here), "The run is over"),
        (record(), "This run is on another machine"),
    ):
        found = why_no_frames(run)
        assert found is not None and found[0] == title
