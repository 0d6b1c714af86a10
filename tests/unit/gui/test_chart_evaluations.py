"""Which runs evaluated another one, and which runs have charts."""

from __future__ import annotations

from typing import Any

from mosaic.contracts.history import MetricSeries
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.gui.state.chart_evaluations import (
    MAX_CANDIDATES,
    Lineage,
    candidates,
    evaluations_of,
    lineage_of,
)
from mosaic.gui.state.chart_runs import MAX_RUNS, looks_of, nothing_to_show
from mosaic.gui.state.run_colours import RunColours
from mosaic.gui.state.runs_state import RunsState
from mosaic.gui.state.tab_presence import has_charts


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


def config(parent: str, mode: str = "policy_eval", policy: str = "/x/model") -> dict[str, Any]:
    return {
        "metadata": {
            "lineage": {"parent_run": parent},
            "worker": {"config": {"extras": {"mode": mode, "policy_path": policy}}},
        }
    }


def test_only_later_runs_of_the_same_kind_are_asked_about() -> None:
    parent = record("05")
    runs = [
        record("09"),
        record("08", env_id="Acrobot-v1"),
        record("07", is_over=False),
        record("06", group="sweep"),
        parent,
        record("04"),
    ]
    assert candidates([parent], runs, {"05": Lineage()}) == ["09"]
    assert candidates([parent], runs, {"05": Lineage(), "09": Lineage()}) == []
    assert candidates([], runs, {}) == []


def test_the_number_of_questions_is_bounded() -> None:
    runs = [record(f"{number:03}") for number in range(200, 0, -1)]
    assert len(candidates([runs[-1]], runs, {})) == MAX_CANDIDATES


def test_lineage_is_read_from_the_config() -> None:
    assert lineage_of(record("2", config=config("1"))) == Lineage("1", True)
    assert not lineage_of(record("2", config=config("1", "resume_training"))).is_evaluation
    at_step = config("1", policy="/runs/1/checkpoints/step_4096.model")
    assert lineage_of(record("2", config=at_step)).step == 4096
    for odd in ({}, {"metadata": None}, {"metadata": {"lineage": [1]}}):
        assert lineage_of(record("2", config=odd)) == Lineage()


def test_an_evaluation_is_a_point_at_the_step_of_its_checkpoint() -> None:
    parent = record("1")
    records = {"1": parent, "2": record("2"), "3": record("3"), "4": record("4")}
    lineages = {
        "2": Lineage("1", True),
        "3": Lineage("1", True, 300),
        "4": Lineage("1", False),
        "5": Lineage("1", True),  # deleted since
    }
    found = evaluations_of(parent, lineages, records, None)
    assert found is not None
    assert found.steps.tolist() == [300, 1000]
    assert found.returns.tolist() == [50, 50]
    assert evaluations_of(record("9"), lineages, records, None) is None


def test_what_a_run_evaluated_itself_is_shown_too() -> None:
    own = MetricSeries("1", "eval/avg_return", (5,), (5,), (7.0,), (7.0,), (7.0,), (1,), (0.0,), 1)
    found = evaluations_of(record("1"), {}, {}, own)
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
