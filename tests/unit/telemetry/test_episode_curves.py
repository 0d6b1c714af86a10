"""Curves, counts and means that are made of episodes, whatever the worker logs itself."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.run_record import Progress
from mosaic.telemetry.ingest import JournalIngest
from mosaic.telemetry.series import bucketed_series, metric_infos, point_series
from mosaic.telemetry.store.reader import reading
from mosaic.telemetry.store.store import TelemetryStore
from tests import journal_lines as lines
from tests.older_stores import make_older

RETURN, LENGTH = "episodic_return", "episodic_length"


class Told:
    """A run whose journal is told line by line."""

    def __init__(self, folder: Path) -> None:
        self.journal, self.store = folder / "events.jsonl", folder / "telemetry.sqlite"
        self.seq = 0
        self.lines = [lines.registered(0)]

    def episode(self, total_reward: float | str, steps: int = 10, **fields: Any) -> None:
        self.seq += 1
        self.lines.append(lines.episode(self.seq, total_reward, steps=steps, **fields))

    def lifecycle(self, kind: str, **payload: Any) -> None:
        self.seq += 1
        self.lines.append(lines.lifecycle(kind, self.seq, **payload))

    def metric(self, name: str, value: float, step: int, **fields: Any) -> None:
        self.seq += 1
        self.lines.append(
            lines.line("metric", self.seq, name=name, value=value, step=step, **fields)
        )

    def attempt(self, number: int) -> None:
        self.seq = 0
        self.lines.append(lines.registered(0, attempt=number))

    def ingest(self, chunk_bytes: int = 1 << 20) -> Progress:
        lines.append(self.journal, self.lines)
        self.lines = []
        ingest = JournalIngest(lines.RUN_ID, self.journal, self.store)
        report = ingest.step(chunk_bytes)
        while report.has_more:
            report = ingest.step(chunk_bytes)
        ingest.close()
        return report.progress

    def curve(self, name: str = RETURN) -> list[tuple[int, float]]:
        series = self.points(name)
        return list(zip(series.last_steps, series.means, strict=True))

    def points(self, name: str) -> MetricSeries:
        with reading(self.store) as store:
            assert store is not None
            return point_series(store, name, None, None, 0, 10_000)

    def infos(self) -> dict[str, MetricInfo]:
        with reading(self.store) as store:
            assert store is not None
            return {info.name: info for info in metric_infos(store, 100)}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Told]:
    yield Told(tmp_path)


def test_every_finished_episode_is_a_point_where_it_ended(run: Told) -> None:
    run.episode(1.5, steps=20)
    run.episode(2.5, steps=5, terminated=False, truncated=True)
    run.episode(3.5, steps=7, metadata={"step": 100})
    run.episode(4.5, steps=3)
    progress = run.ingest()
    assert run.curve() == [(20, 1.5), (25, 2.5), (100, 3.5), (103, 4.5)]
    assert run.curve(LENGTH) == [(20, 20), (25, 5), (100, 7), (103, 3)]
    assert run.infos()[RETURN] == MetricInfo(RETURN, 4, 20, 103, 4.5)
    assert (progress.episodes, progress.last_return, progress.mean_return) == (4, 4.5, 3.0)


def test_an_episode_that_was_broken_off_is_in_no_statistic_but_its_steps_are_done(
    run: Told,
) -> None:
    run.episode(1.0, steps=10)
    run.episode(900.0, steps=30, terminated=False, truncated=False)
    run.episode(3.0, steps=10)
    progress = run.ingest()
    assert run.curve() == [(10, 1.0), (50, 3.0)]
    assert (progress.episodes, progress.mean_return) == (2, 2.0)


def test_evaluations_have_a_curve_of_their_own(run: Told) -> None:
    run.episode(1.0, steps=10)
    run.episode(500.0, steps=90, metadata={"purpose": "evaluation"})
    run.episode(3.0, steps=10)
    progress = run.ingest()
    assert run.curve() == [(10, 1.0), (20, 3.0)]
    assert run.curve(f"eval/{RETURN}") == [(10, 500.0)]
    assert run.curve(f"eval/{LENGTH}") == [(10, 90)]
    assert (progress.episodes, progress.mean_return) == (2, 2.0)


def test_merged_episodes_weigh_as_many_as_they_are(run: Told) -> None:
    run.episode(10.0, steps=10)
    run.episode(2.0, steps=10, metadata={"count": 300})
    run.episode(4.0, steps=10, metadata={"count": 50})
    progress = run.ingest()
    assert (progress.episodes, progress.mean_return) == (351, 3.0)
    assert run.points(RETURN).counts == (1, 300, 50)
    assert run.points(RETURN).points == run.infos()[RETURN].points == 351
    assert run.curve()[-1] == (3510, 4.0)
    with reading(run.store) as store:
        assert store is not None
        (mean,) = bucketed_series(store, RETURN, None, None, 1).means
    assert mean == pytest.approx((10 + 600 + 200) / 351)


@pytest.mark.parametrize("chunk_bytes", [1, 1 << 20])
def test_what_is_lived_through_again_counts_once(run: Told, chunk_bytes: int) -> None:
    for number in range(200):
        run.episode(float(number), steps=10)
    run.attempt(2)
    run.lifecycle("checkpoint_loaded", path="x", step=1500)
    for number in range(10):
        run.episode(1000.0 + number, steps=10)
    progress = run.ingest(chunk_bytes)
    curve = run.curve()
    assert len(curve) == progress.episodes == 160
    assert curve[149:151] == [(1500, 149.0), (1510, 1000.0)]
    last = [value for _, value in curve[-100:]]
    assert progress.mean_return == math.fsum(last) / 100
    assert progress.steps == 1500


def test_an_attempt_that_loads_nothing_begins_anew_with_its_first_episode(run: Told) -> None:
    run.episode(1.0)
    run.attempt(2)
    assert run.ingest().episodes == 1
    run.episode(2.0)
    progress = run.ingest()
    assert (progress.episodes, progress.mean_return) == (1, 2.0)
    assert run.curve() == [(10, 2.0)]


def test_a_restart_goes_on_with_mean_and_counts(run: Told) -> None:
    for number in range(150):
        run.episode(float(number), steps=10)
    run.ingest(1000)
    run.episode(7.0)
    progress = run.ingest()
    assert progress.episodes == 151
    assert progress.mean_return == (sum(range(51, 150)) + 7.0) / 100


@pytest.mark.parametrize("order", ["before", "after", "both"])
def test_what_a_worker_logs_under_the_name_of_a_curve_is_kept_apart(run: Told, order: str) -> None:
    if order in ("before", "both"):
        run.metric(RETURN, -1.0, 5)
        run.ingest()
        run.metric(RETURN, -2.0, 6)
    run.episode(3.0)
    if order in ("after", "both"):
        run.metric(RETURN, -3.0, 7)
    run.metric(f"eval/{RETURN}", 8.0, 9)
    run.ingest()
    assert run.curve() == [(10, 3.0)]
    logged = {"before": [-1.0, -2.0], "after": [-3.0], "both": [-1.0, -2.0, -3.0]}[order]
    assert [value for _, value in run.curve(f"logged/{RETURN}")] == logged
    # Nobody evaluated, so that name is free.
    assert run.curve(f"eval/{RETURN}") == [(9, 8.0)]


def test_a_worker_that_uses_both_names_itself_loses_nothing(run: Told) -> None:
    for step in range(50):
        run.metric(RETURN, 1.0, step)
        run.metric(f"logged/{RETURN}", 2.0, step)
    run.ingest()
    run.episode(3.0)
    run.ingest()
    assert run.infos()[f"logged/{RETURN}"].points == 100
    assert run.infos()[RETURN].points == 1


@pytest.mark.parametrize(
    "metadata",
    [
        *(None, 3, "step", [1], {"step": "7"}, {"step": -1}, {"step": 2**70}, {"step": True}),
        *({"count": 0}, {"count": 2.5}, {"purpose": 4}, {"count": {}, "step": None}),
    ],
)
def test_metadata_that_mean_something_else_do_no_harm(run: Told, metadata: Any) -> None:
    run.episode(1.0, metadata=metadata)
    assert run.ingest().episodes == 1
    assert run.curve() == [(10, 1.0)]


def test_one_odd_fact_does_not_hide_the_others(run: Told) -> None:
    run.episode(1.0, metadata={"step": "odd", "purpose": "evaluation", "count": 3})
    assert run.ingest().episodes == 0
    assert run.points(f"eval/{RETURN}").counts == (3,)


def history(run: Told) -> None:
    """Something of everything."""
    run.metric(f"eval/{RETURN}", 9.0, 1)
    for number in range(100):
        run.episode(float(number), steps=10)
    run.episode(-1.0, terminated=False)
    run.attempt(2)
    run.lifecycle("checkpoint_loaded", path="x", step=700)
    for number in range(70):
        run.episode(float(-number), steps=10, metadata={"count": 2})
    run.attempt(3)


@pytest.mark.parametrize("version", [1, 2])
def test_a_store_of_an_earlier_version_answers_the_same_before_and_after_its_upgrade(
    run: Told, version: int
) -> None:
    history(run)
    run.ingest()
    names = (RETURN, LENGTH, f"eval/{RETURN}")
    expected = [run.points(name) for name in names], run.infos()
    make_older(run.store, version)
    assert ([run.points(name) for name in names], run.infos()) == expected
    TelemetryStore(run.store, lines.RUN_ID).close()
    assert ([run.points(name) for name in names], run.infos()) == expected
    with reading(run.store) as store:
        assert store is not None
        assert store.is_current
        assert len(bucketed_series(store, RETURN, None, None, 20).counts) == 20


@pytest.mark.parametrize("version", [1, 2])
def test_a_run_goes_on_in_a_store_of_an_earlier_version(
    tmp_path: Path, run: Told, version: int
) -> None:
    history(run)
    run.ingest()
    make_older(run.store, version)
    (tmp_path / "whole").mkdir()
    whole = Told(tmp_path / "whole")
    history(whole)
    for each in (run, whole):
        each.episode(5.0)
    assert run.ingest().mean_return == whole.ingest().mean_return == 5.0
    assert run.curve() == whole.curve() == [(10, 5.0)]


def test_a_summary_of_many_values_weighs_as_many(run: Told) -> None:
    run.metric("loss", 1.0, 10)
    run.metric("loss", 4.0, 20, count=3, low=2.0, high=9.0, first=2.0, last=9.0, first_step=11)
    run.ingest()
    points = run.points("loss")
    assert (points.counts, points.means) == ((1, 3), (1.0, 4.0))
    assert (points.lows, points.highs) == ((1.0, 2.0), (1.0, 9.0))
    assert run.infos()["loss"].points == 4
    with reading(run.store) as store:
        assert store is not None
        whole = bucketed_series(store, "loss", None, None, 1)
    assert (whole.counts, whole.means, whole.lows, whole.highs) == ((4,), (3.25,), (1.0,), (9.0,))


def test_buckets_weigh_summaries_as_points_do(run: Told) -> None:
    for step in range(100):
        run.metric("loss", float(step), step, count=step + 2, low=step - 0.5, high=step + 0.5)
    run.ingest(500)
    with reading(run.store) as store:
        assert store is not None
        whole = bucketed_series(store, "loss", None, None, 1)
    total = sum(step * (step + 2) for step in range(100))
    assert whole.counts == (5150,)
    assert whole.means[0] == pytest.approx(total / 5150)
    assert (whole.lows, whole.highs) == ((-0.5,), (99.5,))


@pytest.mark.parametrize("chunk_bytes", [1, 1 << 20])
def test_speed_does_not_depend_on_how_the_journal_is_cut(run: Told, chunk_bytes: int) -> None:
    def at(second: float, kind: str, **payload: Any) -> None:
        told = lines.lifecycle(kind, len(run.lines), **payload)
        run.lines.append(told.replace(b"1767225600.", b"%d." % (1_767_225_600 + second)))

    at(0, "run_started", total_steps=5000)
    at(30, "heartbeat", steps=0)  # got ready
    at(40, "heartbeat", steps=1000)
    at(40, "run_paused", steps=1000)
    at(100, "heartbeat", steps=1000, paused=True)
    at(160, "run_resumed", steps=1000)
    at(170, "heartbeat", steps=2000)
    progress = run.ingest(chunk_bytes)
    assert progress.steps == 2000
    assert progress.overall_steps_per_second == pytest.approx(100.0, rel=0.01)
    assert progress.steps_per_second == pytest.approx(100.0, rel=0.01)
