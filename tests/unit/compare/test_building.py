"""Which series stands for a run, and that final values never come from buckets."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from mosaic.compare.building import Loader, choose_source, resumed_remarks
from mosaic.compare.groups import RunGroup
from mosaic.compare.published import EVALUATION, TRAINING
from mosaic.contracts.ancestry import Ancestor
from mosaic.contracts.metrics import MetricInfo, MetricSeries
from mosaic.contracts.run_record import Lineage, LineageKind, RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.errors import RequestError


class StoredSeries:
    """A history in memory that answers in buckets, as a store does."""

    def __init__(self, runs: dict[str, dict[str, list[tuple[int, float]]]]) -> None:
        self.runs = runs

    def metrics(self, run_id: str) -> list[MetricInfo]:
        return [
            MetricInfo(name, len(points), points[0][0], points[-1][0], points[-1][1])
            for name, points in self.runs[run_id].items()
        ]

    def series(
        self,
        run_ids: list[str],
        names: list[str],
        first_step: int | None = None,
        last_step: int | None = None,
        buckets: int = 0,
    ) -> list[MetricSeries]:
        return [
            bucketed(run_id, name, in_range(points, first_step, last_step), buckets)
            for run_id in run_ids
            for name, points in self.runs[run_id].items()
            if name in names
        ]


def in_range(
    points: list[tuple[int, float]], first: int | None, last: int | None
) -> list[tuple[int, float]]:
    return [
        (step, value)
        for step, value in points
        if (first is None or step >= first) and (last is None or step <= last)
    ]


def bucketed(run_id: str, name: str, points: list[tuple[int, float]], buckets: int) -> MetricSeries:
    size = 1 if not buckets else max(1, -(-len(points) // buckets))
    parts = [points[at : at + size] for at in range(0, len(points), size)]
    values = [[value for _, value in part] for part in parts]
    return MetricSeries(
        run_id=run_id,
        name=name,
        first_steps=tuple(part[0][0] for part in parts),
        last_steps=tuple(part[-1][0] for part in parts),
        means=tuple(float(np.mean(part)) for part in values),
        lows=tuple(min(part) for part in values),
        highs=tuple(max(part) for part in values),
        counts=tuple(len(part) for part in parts),
        timestamps=tuple(0.0 for _ in parts),
        points=len(points),
    )


def info(name: str, points: int = 10) -> MetricInfo:
    return MetricInfo(name, points, 0, 100, 1.0)


@pytest.mark.parametrize(
    ("names", "chosen"),
    [
        (["charts/episodic_return", "episodic_return"], "episodic_return"),
        (["logged/episodic_return", "eval/episodic_return"], "logged/episodic_return"),
        (["losses/value", "charts/episodic_return", "x/ep_rew_mean"], "charts/episodic_return"),
        (["rollout/episodic_return", "eval/episodic_return"], "rollout/episodic_return"),
        (["rollout/ep_rew_mean", "time/fps"], "rollout/ep_rew_mean"),
        (["eval/mean_reward", "time/fps"], "eval/mean_reward"),
        (["time/fps"], ""),
        ([], ""),
    ],
)
def test_the_series_that_stands_for_the_return(names: list[str], chosen: str) -> None:
    assert choose_source([info(name) for name in names]).name == chosen


def test_a_metric_without_points_is_not_chosen() -> None:
    assert choose_source([info("charts/episodic_return", 0)]).name == ""


def test_curves_come_in_buckets_and_final_values_point_by_point() -> None:
    points = [(step, float(step % 97)) for step in range(1, 100_001)]
    history = StoredSeries({"r": {"charts/episodic_return": points}})
    loader = Loader(history)
    curve = loader.load(["r"])["r"]
    assert curve.points == 100_000 and len(curve.steps) <= 4_000
    assert loader.tail("r", 100, 100_000).tolist() == [value for _, value in points[-100:]]
    # Also when the range is cut in the middle of a bucket.
    assert loader.tail("r", 250, 61_003.0).tolist() == [v for s, v in points[:61_003]][-250:]
    assert len(loader.tail("r", 1_000_000, 100_000)) == 100_000


def test_it_is_said_which_logged_series_stands_for_the_return() -> None:
    points = [(1, 2.0), (2, 3.0)]
    history = StoredSeries(
        {"a": {"episodic_return": points, "rollout/ep_rew_mean": points}}
        | {"b": {"rollout/ep_rew_mean": points}}
    )
    loader = Loader(history)
    loader.load(["a", "b"])
    assert loader.remarks({"a": "first", "b": "second"}) == [
        "No finished episodes of second: the logged rollout/ep_rew_mean was taken."
    ]


def test_a_point_that_stands_for_several_episodes_counts_as_many_at_the_end() -> None:
    class Merged(StoredSeries):
        def series(self, *arguments: Any, **more: Any) -> list[MetricSeries]:
            found = super().series(*arguments, **more)
            return [replace(series, counts=(1, 3, 2)) for series in found]

    loader = Loader(Merged({"r": {"episodic_return": [(1, 7.0), (2, 1.0), (3, 2.0)]}}))
    loader.load(["r"])
    assert loader.tail("r", 4, 3).tolist() == [1.0, 1.0, 2.0, 2.0]


def test_runs_with_nothing_have_an_empty_curve() -> None:
    assert Loader(StoredSeries({"r": {}})).load(["r"])["r"].is_empty


def test_an_unknown_metric_is_refused_with_what_there_is() -> None:
    history = StoredSeries({"r": {"losses/value_loss": [(1, 2.0)]}})
    with pytest.raises(RequestError, match="metric 'value_los'") as refusal:
        Loader(history, "value_los").load(["r"])
    assert "losses/value_loss" in refusal.value.hint


def test_the_question_fits_what_was_found() -> None:
    history = StoredSeries(
        {
            "r": {
                "charts/episodic_return": [(n, 1.0) for n in range(500)],
                "losses/value_loss": [(n, 1.0) for n in range(50)],
                "eval/mean_reward": [(n, 1.0) for n in range(50)],
            }
        }
    )
    returns = Loader(history)
    returns.load(["r"])
    question = returns.question(None, False)
    assert (question.last, question.unit, question.is_lower_better) == (100, "episode", False)
    assert returns.measures_returns and returns.kind == TRAINING
    loss = Loader(history, "losses/value_loss")
    loss.load(["r"])
    question = loss.question(None, False)
    assert (question.last, question.unit, question.is_lower_better) == (5, "value", True)
    assert not loss.measures_returns
    assert loss.question(7, False).last == 7
    evaluation = Loader(history, "eval/mean_reward")
    evaluation.load(["r"])
    assert evaluation.measures_returns and evaluation.kind == EVALUATION


def test_a_resumed_run_is_one_curve_with_those_it_continues() -> None:
    name = "episodic_return"
    first = [(step, 1.0) for step in range(1, 9_001)]  # resumed at 6,000
    second = [(step, 2.0) for step in range(6_001, 12_001)]
    history = StoredSeries({"1": {name: first}, "2": {name: second}, "3": {}})
    ancestors = (Ancestor("1", "first", 6_000), Ancestor("2", "second", 12_000))
    whole = Loader(history)
    curve = whole.load(["2"], {"2": ancestors[:1]})["2"]
    assert (curve.last_step, curve.points) == (12_000, 12_000)
    assert (curve.values * curve.weights).sum() == pytest.approx(18_000), "no step counts twice"
    assert whole.tail("2", 8_000, 12_000).tolist() == [1.0] * 2_000 + [2.0] * 6_000
    assert whole.tail("2", 100, 5_000).tolist() == [1.0] * 100
    just_begun = Loader(history)
    curve = just_begun.load(["3"], {"3": ancestors})["3"]
    assert curve.points == 12_000, "what it continues counts before its first episode is over"


def test_it_is_said_which_runs_are_one_and_where_one_is_missing() -> None:
    record = RunRecord("2", "second", "w", RunState.TERM, None, 1, 0, 0.0, 0.0)
    resumed = replace(record, lineage=Lineage("1", LineageKind.RESUMED, 5))
    assert resumed_remarks([RunGroup("g", (record,))]) == []
    before = {"2": (Ancestor("1", "first", 5),)}
    assert resumed_remarks([RunGroup("g", (resumed,), ancestors=before)]) == [
        "second continues first: one training, one curve."
    ]
    (remark,) = resumed_remarks([RunGroup("g", (resumed,))])
    assert "after resuming" in remark and "second" in remark
    other = replace(record, run_id="1", run_name="first")
    remarks = resumed_remarks([RunGroup("g", (resumed,), (), before), RunGroup("h", (other,))])
    assert "not independent" in remarks[-1]
