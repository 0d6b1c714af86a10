"""Evaluations of a run as points of its chart, and which runs have charts."""

from __future__ import annotations

from typing import Any

from mosaic.contracts.metrics import MetricSeries
from mosaic.contracts.run_record import Lineage, LineageKind, Progress, RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.gui.charts.model.runs import MAX_RUNS, evaluations_of, looks_of, nothing_to_show
from mosaic.gui.state.runs_state import RunColours, RunsState
from mosaic.gui.tabs.model import has_charts


def record(run_id: str, is_over: bool = True, **changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "run_id": run_id,
        "run_name": f"run {run_id}",
        "worker": "learner",
        "env_id": "CartPole-v1",
        "state": RunState.TERM if is_over else RunState.EXEC,
        "outcome": Outcome.SUCCEEDED if is_over else None,
        "attempt": 1,
        "priority": 0,
        "created_at": 0.0,
        "updated_at": 0.0,
        "started_at": 1.0,
        "progress": Progress(steps=1000, mean_return=50.0),
        **changes,
    }
    return RunRecord(**values)


def test_an_evaluation_is_a_point_at_the_step_of_its_checkpoint() -> None:
    evaluated = LineageKind.EVALUATED
    parent = record("1")
    records = [
        parent,
        record("2", lineage=Lineage("1", evaluated)),
        record("3", lineage=Lineage("1", evaluated, 300)),
        record("4", lineage=Lineage("1", LineageKind.RESUMED)),
        record("5", lineage=Lineage("8", evaluated)),
        record("6", is_over=False, lineage=Lineage("1", evaluated)),
    ]
    found = evaluations_of(parent, records, None)
    assert found is not None
    assert found.steps.tolist() == [300, 1000]
    assert found.returns.tolist() == [50, 50]
    assert evaluations_of(record("9"), records, None) is None


def test_what_a_run_evaluated_itself_is_shown_too() -> None:
    own = MetricSeries("1", "eval/avg_return", (5,), (5,), (7.0,), (7.0,), (7.0,), (1,), (0.0,), 1)
    found = evaluations_of(record("1"), [], own)
    assert found is not None and found.returns.tolist() == [7.0]


def test_a_run_that_never_started_has_no_charts() -> None:
    assert has_charts(record("1"))
    assert has_charts(record("1", is_over=False, started_at=None))
    assert not has_charts(record("1", started_at=None))


def test_looks_follow_the_selection_and_are_bounded() -> None:
    runs, colours = RunsState(), RunColours()
    ids = [f"{number:03}" for number in range(60)]
    runs.load(record(run_id) for run_id in ids)
    colours.show(ids)
    looks = looks_of(["gone", *reversed(ids)], runs, colours)
    assert len(looks) == MAX_RUNS
    assert looks[0].run_id == "059" and looks[0].colour == colours.of("059")


def test_nothing_to_show_says_what_will_change_that() -> None:
    runs, colours = RunsState(), RunColours()
    runs.load([record("1", is_over=False), record("2")])
    assert nothing_to_show(looks_of(["1"], runs, colours))[0] == "No points yet"
    assert nothing_to_show(looks_of(["2"], runs, colours))[0] == "No metrics"
