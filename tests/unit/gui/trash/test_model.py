"""The trash as rows and sentences."""

from __future__ import annotations

from mosaic.contracts.keeping import TrashedRun
from mosaic.front.run_words import goes_words
from mosaic.gui.trash.model import found, going_text, summary, trash_rows

NOW = 1_700_000_000.0
RUNS = [
    TrashedRun("01A", "ours", NOW - 60, 2_000_000, "user", NOW + 6 * 86_400),
    TrashedRun("01B", "ours#2", NOW - 7200, 1_000, "older than 30 days", None),
]


def test_rows_tell_when_and_why() -> None:
    first, second = trash_rows(RUNS, now=NOW)
    assert first.cells == ("ours", "1 min ago", "in 6 d", "2.0 MB", "by hand")
    assert second.cells[2:] == ("not by itself", "1.0 kB", "older than 30 days")
    going, _ = trash_rows(RUNS, {"01A"}, NOW)
    assert going.is_going and going.cells[2] == "in a moment"


def test_sentences() -> None:
    assert summary(RUNS, 2) == "2 runs · 2.0 MB" and summary(RUNS, 1).startswith("1 of 2 runs")
    assert summary([], 0) == ""
    assert going_text(RUNS[:1]).startswith("ours will be gone for good in 10 s")
    assert [run.run_id for run in found(RUNS, "30 OURS")] == ["01B"]
    assert goes_words(NOW - 5, NOW) == "within the hour"
