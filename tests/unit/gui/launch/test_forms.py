"""The forms of evaluations, resumptions, scripts and workers without algorithms."""

from __future__ import annotations

import os
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.commands.run import build_config
from mosaic.cli.commands.watch import watch_document
from mosaic.cli.main import build_parser
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.gui.launch.model.policy_forms import EvaluateForm, ResumeForm
from mosaic.gui.launch.model.script_form import ScriptForm
from mosaic.gui.launch.model.train_form import TrainForm
from mosaic.gui.launch.model.worker_form import WorkerForm
from mosaic.gui.state.targets import PolicyTarget
from mosaic.gui.state.workbench_state import WorkbenchState
from tests.unit.gui.launch_samples import filled_state, worker
from tests.unit.gui.run_samples import record

WORKER = "cleanrl"


@pytest.fixture
def state() -> WorkbenchState:
    return filled_state()


def trained(**changes: object) -> RunRecord:
    values: dict[str, object] = {
        "worker": WORKER,
        "state": RunState.TERM,
        "outcome": Outcome.SUCCEEDED,
        "checkpoint_uri": "checkpoints/last",
        "paths": {"run_directory": "/runs/one"},
        "progress": Progress(60_000, 60_000),
    }
    return record(1, **{**values, **changes})


def policy(run: RunRecord | None = None) -> PolicyTarget:
    return PolicyTarget(
        Path("/runs/one/checkpoints/last"), WORKER, "CartPole-v1", "ppo", run or trained()
    )


# Evaluating


def test_an_evaluation_needs_a_policy(state: WorkbenchState) -> None:
    form = EvaluateForm(state, WORKER)
    assert "policy" in str(form.problem())
    form.use_policy(policy())
    assert form.problem() is None
    [document] = form.prepare()()
    settings = document["metadata"]["worker"]["config"]
    assert settings == {
        "extras": {"mode": "policy_eval", "policy_path": "/runs/one/checkpoints/last"}
    }
    assert document["metadata"]["lineage"] == {"parent_run": trained().run_id}


def test_an_evaluation_can_be_told_everything(state: WorkbenchState) -> None:
    form = EvaluateForm(state, WORKER)
    form.use_policy(policy())
    for name, entry in {
        "eval_episodes": "100",
        "eval_batch_size": "10",
        "eval_repeat": True,
        "eval_deterministic": False,
        "seed_override": "7",
        "eval_capture_video": True,
        "override_environment": True,
        "video_mode": "single",
    }.items():
        form.form.set(name, entry)
    state.choose_environment("Acrobot-v1")
    [document] = form.prepare()()
    settings = document["metadata"]["worker"]["config"]
    assert settings["env_id"] == "Acrobot-v1"
    assert settings["extras"]["eval_deterministic"] is False
    assert settings["extras"]["video_mode"] == "single"
    arguments = build_parser().parse_args(shlex.split(form.command)[1:])
    assert arguments.worker_flags == {
        **{"--episodes": 100, "--batch-size": 10, "--seed": 7},
        **{"--repeat": True, "--stochastic": True, "--video": True},
    }
    assert arguments.env_id == "Acrobot-v1" and arguments.policy == trained().run_id
    assert arguments.extra == ["video_mode=single"]


def test_without_override_the_chosen_environment_does_not_matter(state: WorkbenchState) -> None:
    form = EvaluateForm(state, WORKER)
    form.use_policy(policy())
    state.choose_environment("not an id")
    assert form.problem() is None
    assert "env_id" not in form.prepare()()[0]["metadata"]["worker"]["config"]


def test_a_worker_whose_schema_says_nothing_about_its_options_has_a_form(
    state: WorkbenchState,
) -> None:
    bare: dict[str, Any] = {
        "warm_start_path": {"type": ["string", "null"]},
        "eval_rounds": {"type": "integer"},
    }
    schema: dict[str, Any] = {"properties": {"extras": {"properties": bare}}}
    state.set_workers([worker(WORKER, WorkerCapabilities(WORKER, config_schema=schema))])
    evaluating = EvaluateForm(state, WORKER)
    evaluating.use_policy(policy())
    assert evaluating.problem() is None
    training = TrainForm(state, WORKER)
    begin = training.form.field("warm_start_path")
    assert (begin.title, begin.section) == ("Warm start path", "Run")
    described = {**bare["eval_rounds"], "x-modes": ["policy_eval"], "title": "Rounds"}
    bare["eval_rounds"] = described
    evaluating.refresh()
    assert evaluating.form.field("eval_rounds").title == "Rounds"


# Resuming


def test_a_finished_run_goes_on_for_as_long_again(state: WorkbenchState) -> None:
    form = ResumeForm(state, WORKER)
    form.use_policy(policy())
    assert form.form.value("total_timesteps") == 120_000
    form.form.set("total_timesteps", "60_000")
    assert "more than the 60,000" in str(form.problem())
    form.form.set("total_timesteps", "1e5")
    form.form.set("learning_rate", "1e-4")
    [document] = form.prepare()()
    settings = document["metadata"]["worker"]["config"]
    assert settings["total_timesteps"] == 100_000
    assert settings["extras"]["algo_params"] == {"learning_rate": 1e-4}
    arguments = build_parser().parse_args(shlex.split(form.command)[1:])
    assert arguments.total_timesteps == 100_000 and arguments.set == ["learning_rate=0.0001"]


def test_a_resumed_training_can_be_told_what_its_worker_takes_there(state: WorkbenchState) -> None:
    form = ResumeForm(state, WORKER)
    form.use_policy(policy())
    form.form.set("notes", "once more")
    form.form.set("fastlane_video_mode", "off")
    [document] = form.prepare()()
    extras = document["metadata"]["worker"]["config"]["extras"]
    assert (extras["notes"], extras["fastlane_video_mode"]) == ("once more", "off")
    arguments = build_parser().parse_args(shlex.split(form.command)[1:])
    assert arguments.worker_flags == {"--notes": "once more"}
    assert arguments.extra == ["fastlane_video_mode=off"]


def test_a_run_that_was_stopped_goes_on_to_its_end(state: WorkbenchState) -> None:
    form = ResumeForm(state, WORKER)
    form.use_policy(policy(trained(progress=Progress(10_000, 60_000))))
    assert form.form.value("total_timesteps") == 60_000


def test_a_running_run_is_not_resumed(state: WorkbenchState) -> None:
    form = ResumeForm(state, WORKER)
    form.use_policy(policy(trained(state=RunState.EXEC, outcome=None)))
    assert "still running" in str(form.problem())


def test_parameters_of_the_run_are_the_defaults(state: WorkbenchState) -> None:
    config = {"metadata": {"worker": {"config": {"extras": {"algo_params": {"gamma": 0.9}}}}}}
    form = ResumeForm(state, WORKER)
    form.use_policy(policy(replace(trained(), config=config)))
    assert form.form.value("gamma") == 0.9 and not form.form.is_changed("gamma")


# Scripts


def test_a_script_is_shown_before_it_runs(state: WorkbenchState, tmp_path: Path) -> None:
    form = ScriptForm(state, "script")
    assert "Command is missing" in str(form.problem())
    form.form.set("command", "python -c 'print(1)'")
    form.form.set("cwd", str(tmp_path))
    form.form.set("variables", "A=1\nMY_TOKEN=hush")
    assert form.problem() is None
    lines = form.preview()()
    assert any("print(1)" in line for line in lines) and any(str(tmp_path) in x for x in lines)
    assert any("MY_TOKEN" in line for line in lines) and "hush" not in "".join(lines)
    [document] = form.prepare()()
    assert parse_run_config(document).environment["MY_TOKEN"] == "hush"
    assert "hush" not in form.command and "A=1" in form.command
    assert form.preset_values()["variables"] == ["A", "MY_TOKEN"]


def test_the_copied_command_watches_the_same_script(state: WorkbenchState, tmp_path: Path) -> None:
    form = ScriptForm(state, "script")
    for name, entry in {
        "command": "python -c 'print(1)' --name \"two words\"",
        "cwd": str(tmp_path),
        "compatibility": True,
        "video_mode": "single",
        "record_episodes": False,
        "max_duration_s": "60",
        "variables": "A=1 2",
        "cpus": "2",
    }.items():
        form.form.set(name, entry)
    arguments = build_parser().parse_args(shlex.split(form.command)[1:])
    assert watch_document(arguments, os.environ) == form.prepare()()[0]


@pytest.mark.parametrize(
    ("command", "words"),
    [("python 'x", "no partner"), ("python t.py --api-key abc", "secret"), ("   ", "missing")],
)
def test_commands_that_cannot_run(state: WorkbenchState, command: str, words: str) -> None:
    form = ScriptForm(state, "script")
    form.form.set("command", command)
    assert words in str(form.problem())


def test_variables_have_names(state: WorkbenchState) -> None:
    form = ScriptForm(state, "script")
    form.form.set("command", "true")
    form.form.set("variables", "1A=3")
    assert "NAME=value" in str(form.problem())


# Workers without algorithms


def test_a_worker_without_algorithms_has_a_form_of_its_own_settings(
    state: WorkbenchState,
) -> None:
    form = WorkerForm(state, "baseline")
    form.form.set("policy", "heuristic")
    form.form.set("total_timesteps", "1e3")
    assert form.problem() is None
    [document] = form.prepare()()
    assert document["metadata"]["worker"]["config"] == {
        "env_id": "CartPole-v1",
        "policy": "heuristic",
        "total_timesteps": 1000,
    }
    arguments = build_parser().parse_args(shlex.split(form.command)[1:])
    info = state.worker("baseline")
    assert info is not None and info.capabilities is not None
    assert build_config(arguments, info.capabilities) == document
