from __future__ import annotations

import contextlib
import math
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.errors import StoreError
from mosaic.telemetry.ingest import JournalIngest
from mosaic.telemetry.store.pyramid import SIZES, SMALLEST
from mosaic.telemetry.store.schema import MIGRATIONS
from mosaic.telemetry.store.store import TelemetryStore
from tests import journal_lines as lines
from tests.older_stores import make_older
from tests.unit.telemetry.curve_samples import Point, Reported, finite, reported, stored


def table(path: Path, statement: str) -> list[Any]:
    with contextlib.closing(sqlite3.connect(path)) as db:
        return db.execute(statement).fetchall()


def assert_pyramids_are_right(path: Path, curves: dict[str, list[Point]]) -> None:
    summaries = table(path, "SELECT * FROM metric_summaries ORDER BY name")
    assert summaries == sorted(
        (
            name,
            len(curve),
            len(curve) // SMALLEST * SMALLEST,
            min(point.step for point in curve),
            max(point.step for point in curve),
            len(curve),  # values
            0,
        )
        for name, curve in curves.items()
    )
    found = table(path, "SELECT * FROM metric_buckets ORDER BY name, level, first_cursor")
    expected = [
        (name, level, curve[start : start + size])
        for name, curve in sorted(curves.items())
        for level, size in list(enumerate(SIZES))[1:]
        for start in range(0, len(curve) // size * size, size)
    ]
    assert [row[:2] for row in found] == [(name, level) for name, level, _ in expected]
    for row, (_, _, points) in zip(found, expected, strict=True):
        _, _, first_cursor, last_cursor, first_step, last_step, *rest = row
        count, usable, low, high, total, timestamp = rest
        values = finite(points)
        assert first_cursor < last_cursor
        assert first_step == min(point.step for point in points)
        assert last_step == max(point.step for point in points)
        assert (count, usable) == (len(points), len(values))
        assert (low, high) == (min(values, default=None), max(values, default=None))
        assert timestamp == max(point.timestamp for point in points)
        if values and total is not None and math.isfinite(total):
            scale = max(map(abs, values))
            assert total == pytest.approx(math.fsum(values), rel=1e-9, abs=1e-9 * scale)


@settings(max_examples=60, deadline=None)
@given(reported(), st.sampled_from([500, 20_000, 1 << 20]))
def test_buckets_are_those_of_the_points_however_they_came(
    written: Reported, chunk_bytes: int
) -> None:
    with tempfile.TemporaryDirectory(prefix="mosaic-pyramid-") as folder:
        path = stored(Path(folder), written.lines, chunk_bytes)
        assert_pyramids_are_right(path, written.curves)


def test_several_levels_grow_and_shrink_together(tmp_path: Path) -> None:
    written = Reported()
    for step in range(SIZES[3] * 2 + 100):
        written.point("loss", step, math.sin(step))
    written.continue_from(SIZES[3] + 5)
    for step in range(SIZES[3] + 6, SIZES[3] * 2 + 70):
        written.point("loss", step, math.cos(step))
    path = stored(tmp_path, written.lines)
    assert_pyramids_are_right(path, written.curves)
    assert len(table(path, "SELECT * FROM metric_buckets WHERE level = 3")) == 2


def test_a_metric_that_a_rewind_takes_away_wholly_is_gone(tmp_path: Path) -> None:
    written = Reported()
    for step in range(200):
        written.point("late", 1000 + step, 1.0)
        written.point("early", step, 1.0)
    written.continue_from(500)
    path = stored(tmp_path, written.lines)
    assert set(written.curves) == {"early"}
    assert_pyramids_are_right(path, written.curves)


@pytest.mark.parametrize("step", [2**70, -(2**70), True])
def test_a_checkpoint_at_an_impossible_step_does_no_harm(tmp_path: Path, step: int) -> None:
    written = [lines.metric(0, at=5), lines.lifecycle("checkpoint_loaded", 1, step=step)]
    path = stored(tmp_path, written)
    assert table(path, "SELECT count(*) FROM metrics") == [(1 if step > 5 else 0,)]


def test_a_hundred_thousand_names_are_summed_up_and_none_has_a_bucket(tmp_path: Path) -> None:
    count = 100_000
    path = stored(tmp_path, [lines.metric(seq, f"metric {seq}", at=seq) for seq in range(count)])
    assert table(path, "SELECT count(*), sum(points) FROM metric_summaries") == [(count, count)]
    assert table(path, "SELECT count(*) FROM metric_buckets") == [(0,)]


def old_store(path: Path, written: Reported) -> None:
    """What the version before pyramids would have made of these lines."""
    make_older(stored(path.parent, written.lines), 1)


@settings(max_examples=15, deadline=None)
@given(reported())
def test_a_store_without_pyramids_gets_them_when_it_is_opened(written: Reported) -> None:
    with tempfile.TemporaryDirectory(prefix="mosaic-pyramid-") as folder:
        path = Path(folder) / "telemetry.sqlite"
        old_store(path, written)
        TelemetryStore(path, lines.RUN_ID).close()
        assert table(path, "PRAGMA user_version") == [(len(MIGRATIONS),)]
        assert_pyramids_are_right(path, written.curves)


def test_a_run_goes_on_in_a_store_of_the_version_before(tmp_path: Path) -> None:
    written = Reported()
    for step in range(1000):
        written.point("loss", step, float(step))
    path = tmp_path / "telemetry.sqlite"
    old_store(path, written)
    more = Reported(lines=[b""] * 1000, curves=written.curves)
    for step in range(1000, 1500):
        more.point("loss", step, float(step))
    stored(tmp_path, more.lines)
    assert_pyramids_are_right(path, written.curves)


def test_points_and_buckets_are_committed_together_or_not_at_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written = Reported()
    for step in range(300):
        written.point("loss", step, 1.0)
    journal, path = tmp_path / "events.jsonl", tmp_path / "telemetry.sqlite"
    lines.append(journal, written.lines)
    ingest = JournalIngest(lines.RUN_ID, journal, path)

    def no_room(_: sqlite3.Connection) -> None:
        error = sqlite3.OperationalError("database or disk is full")
        error.sqlite_errorcode = sqlite3.SQLITE_FULL
        raise error

    with monkeypatch.context() as patch:
        patch.setattr("mosaic.telemetry.store.store.fill_buckets", no_room)
        with pytest.raises(StoreError):
            ingest.step()
    assert table(path, "SELECT count(*) FROM metrics") == [(0,)]
    ingest.step()
    ingest.close()
    assert_pyramids_are_right(path, written.curves)
