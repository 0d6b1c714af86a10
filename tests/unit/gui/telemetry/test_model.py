"""Steps and episodes as they are shown while a run reports them."""

from __future__ import annotations

import json
import math
from typing import Any

from mosaic.contracts.runbus import ControlKind
from mosaic.gui.telemetry.model import (
    MOST_ROWS,
    ReportedEpisode,
    ReportedStep,
    Skipped,
    TelemetryView,
    lane_banner,
    nothing_yet,
    read_bus_item,
    read_lines,
    streams_steps,
)
from mosaic.wire.answers import BusNotice
from tests.unit.gui.run_samples import over, record


def step(episode: int, index: int, reward: float = 1.0, end: str = "") -> ReportedStep:
    return ReportedStep(episode * 1000 + index, "a/w", episode, index, "1", reward, end)


def episode(index: int, at: float = 0.0) -> ReportedEpisode:
    return ReportedEpisode(index, "a/w", index, 10.0 * index, 12, "terminated", at or float(index))


def line(**fields: Any) -> bytes:
    return json.dumps({"seq": 1, "timestamp": 2.0, **fields}).encode()


def test_lines_are_decoded_without_their_observations() -> None:
    found = read_lines(
        [
            line(type="step", episode_index=2, step_index=5, action=[0.5], reward="NaN"),
            line(type="episode", episode_index=2, total_reward=7, steps=6, truncated=True),
            line(type="metric", name="loss", value=1.0, step=3),
            b"half a li",
        ]
    )
    first, second = found
    assert isinstance(first, ReportedStep) and isinstance(second, ReportedEpisode)
    assert (first.episode, first.step, first.action) == (2, 5, "[0.5]")
    assert math.isnan(first.reward)
    assert (second.total, second.steps, second.end) == (7.0, 6, "truncated")


def test_long_actions_are_cut() -> None:
    (found,) = read_lines([line(type="step", action=list(range(500)))])
    assert isinstance(found, ReportedStep) and len(found.action) < 100


def test_only_a_resumed_notice_says_how_much_was_skipped() -> None:
    coalesced = {"step": 30, "episode": 2}
    notice = BusNotice(ControlKind.RESUMED, "r", 0, 9, coalesced)
    assert read_bus_item(notice) == [Skipped(32)]
    assert read_bus_item(BusNotice(ControlKind.STARVED, "r", 0, 9)) == []


def test_the_return_is_summed_up_from_the_first_step_of_an_episode_on() -> None:
    view = TelemetryView()
    view.add([step(0, 7), step(1, 0, 2.0), step(1, 1, 0.5, "terminated")])
    newest, second, joined_midway = view.step_rows()
    assert newest.cells[4] == "2.5" and second.cells[4] == "2"
    assert joined_midway.cells[4] == "–"
    assert newest.cells[5] == "term."


def test_after_skipped_samples_the_return_is_unknown_until_the_next_episode() -> None:
    view = TelemetryView()
    view.add([step(0, 0), Skipped(40), step(0, 41), step(1, 0)])
    assert [row.cells[4] for row in view.step_rows()] == ["1", "–", "1"]
    assert view.status() == "3 steps · 40 samples skipped"


def test_rows_are_bounded_whatever_a_run_reports() -> None:
    view = TelemetryView()
    view.add(step(0, index) for index in range(3 * MOST_ROWS))
    view.add(episode(index) for index in range(3 * MOST_ROWS))
    assert len(view.step_rows()) == MOST_ROWS
    assert len(view.episode_rows(True)) == MOST_ROWS
    assert view.step_rows()[0].cells[1] == f"{3 * MOST_ROWS - 1:,}"


def test_episodes_of_the_store_and_the_stream_are_shown_once() -> None:
    view = TelemetryView()
    view.add([episode(5)])
    view.load_episodes([episode(5), episode(4), episode(3)])
    view.add([episode(4), episode(6)])
    assert [row.cells[0] for row in view.episode_rows(False)] == ["6", "5", "4", "3"]


def test_only_a_run_that_can_be_replayed_offers_it() -> None:
    view = TelemetryView()
    view.add([episode(1)])
    assert view.episode_rows(True)[0].cells[-1] == "Replay"
    assert view.episode_rows(False)[0].cells[-1] == ""


def test_the_banner_says_what_an_analytics_run_does_not_have_and_why() -> None:
    quick = record(capabilities={"lane": "analytics", "metadata": {"name": "Quick"}})
    assert "Quick streams metrics" in lane_banner(quick)
    assert "because" in lane_banner(quick)
    assert not streams_steps(quick)
    for lane in ("telemetry", "hybrid"):
        assert lane_banner(record(capabilities={"lane": lane})) == ""


def test_an_empty_table_says_what_to_expect() -> None:
    assert nothing_yet(record(waiting="waiting for 2 CPUs"), True)[0] == "No steps yet"
    assert nothing_yet(over(), False)[0] == "No episodes were reported"
