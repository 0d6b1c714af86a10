"""Who is chosen, which form is open, and what other parts may ask for."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.errors import ConfigError, GpuError
from mosaic.front.known_workers import KnownWorker, known_workers
from mosaic.gui.launch.model.choices import (
    CUSTOM,
    HUMAN,
    about,
    family_choices,
    family_of,
    policy_choices,
    roster,
    typed_id,
)
from mosaic.gui.launch.model.field_lookup import error_sentence, field_of_error
from mosaic.gui.launch.model.launch_form import LaunchForm
from mosaic.gui.launch.model.launch_state import LaunchState, key_rows, play_problem
from mosaic.gui.launch.model.policy_forms import EvaluateForm, ResumeForm
from mosaic.gui.launch.model.script_form import ScriptForm
from mosaic.gui.launch.model.train_form import TrainForm
from mosaic.gui.launch.model.worker_form import WorkerForm
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.targets import FormTarget, Mode, Operation, PolicyTarget
from mosaic.gui.state.workbench_state import WorkbenchState
from tests.unit.gui.launch_samples import filled_state, installed_workers, worker
from tests.unit.gui.run_samples import record

WORKER = "cleanrl"
POLICY = PolicyTarget(Path("/a/checkpoint"), WORKER, "CartPole-v1", "ppo")


@pytest.fixture
def state() -> WorkbenchState:
    return filled_state()


@pytest.fixture
def launch(state: WorkbenchState) -> LaunchState:
    return LaunchState(state)


def test_a_worker_that_trains_is_chosen_first(launch: LaunchState) -> None:
    assert launch.worker == WORKER and isinstance(launch.form, TrainForm)


def test_each_worker_has_its_own_form(launch: LaunchState) -> None:
    first = launch.form
    launch.choose("script")
    assert isinstance(launch.form, ScriptForm) and not launch.can_use_trained
    launch.choose("baseline")
    assert isinstance(launch.form, WorkerForm)
    launch.choose(WORKER)
    assert launch.form is first


def test_the_operations_keep_their_values(launch: LaunchState) -> None:
    launch.form.form.set("seeds", "1..5")
    launch.set_operation(Operation.EVALUATE)
    launch.form.form.set("eval_episodes", "7")
    launch.set_operation(Operation.TRAIN)
    assert launch.form.form.entry("seeds") == "1..5"
    launch.choose("script")
    launch.choose(WORKER)
    launch.set_operation(Operation.EVALUATE)
    assert launch.form.form.entry("eval_episodes") == "7"


def test_a_worker_that_disappears_gives_way(launch: LaunchState, state: WorkbenchState) -> None:
    launch.choose("script")
    state.set_workers([item for item in installed_workers() if item.name != "script"])
    assert launch.worker == WORKER
    state.set_workers([])
    assert launch.worker == "" and isinstance(launch.form, LaunchForm)
    assert launch.form.problem() is not None
    state.set_workers(installed_workers())
    assert launch.worker == WORKER and launch.form.problem() is None


def test_algorithms_may_arrive_after_the_workers() -> None:
    whole, state = filled_state(), WorkbenchState()
    launch = LaunchState(state)
    state.set_workers(installed_workers())
    launch.choose(WORKER)
    assert isinstance(launch.form, WorkerForm)
    state.set_catalogue(whole.algorithms, whole.environments)
    assert isinstance(launch.form, TrainForm)


def test_the_worker_that_trains_is_chosen_whatever_arrives_first() -> None:
    whole, state = filled_state(), WorkbenchState()
    launch = LaunchState(state)
    state.set_workers(sorted(installed_workers(), key=lambda item: item.name == WORKER))
    assert launch.worker != WORKER
    state.set_catalogue(whole.algorithms, whole.environments)
    assert launch.worker == WORKER and isinstance(launch.form, TrainForm)


def test_a_worker_that_a_person_chose_stays_when_algorithms_arrive() -> None:
    whole, state = filled_state(), WorkbenchState()
    launch = LaunchState(state)
    state.set_workers(installed_workers())
    launch.choose("baseline")
    state.set_catalogue(whole.algorithms, whole.environments)
    assert launch.worker == "baseline"


def test_choosing_a_worker_while_a_person_plays_hands_over(
    launch: LaunchState, state: WorkbenchState
) -> None:
    launch.choose(HUMAN)
    before = (state.mode, launch.chosen_entry)
    launch.choose("baseline")
    assert before == (Mode.HUMAN, HUMAN)
    assert (state.mode, launch.worker) == (Mode.AGENT, "baseline")


def test_forms_can_be_asked_for(launch: LaunchState, state: WorkbenchState) -> None:
    state.set_mode(Mode.HUMAN)
    launch.choose("script")
    values = {"algo": "dqn", "env_id": "Acrobot-v1", "total_timesteps": 1000, "seed": 3}
    assert launch.open_form(FormTarget(Operation.TRAIN, values=values)) == []
    form = launch.form
    assert state.mode is Mode.AGENT and state.env_id == "Acrobot-v1"
    assert isinstance(form, TrainForm) and form.form.value("algo") == "dqn"
    assert form.form.value("total_timesteps") == 1000 and form.seeds == [3]


@pytest.mark.parametrize(
    ("operation", "kind"), [(Operation.EVALUATE, EvaluateForm), (Operation.RESUME, ResumeForm)]
)
def test_forms_can_be_asked_for_with_a_policy(
    launch: LaunchState, operation: Operation, kind: type[LaunchForm]
) -> None:
    launch.choose("baseline")
    launch.open_form(FormTarget(operation, POLICY))
    assert isinstance(launch.form, kind) and launch.form.policy == POLICY
    assert launch.worker == WORKER and launch.is_using_trained


def test_a_script_can_be_asked_for_with_its_words(launch: LaunchState) -> None:
    target = FormTarget(Operation.SCRIPT, values={"command": ["python", "a b.py"]})
    assert launch.open_form(target) == []
    assert launch.form.form.value("command") == "python 'a b.py'"


def test_what_the_form_has_no_place_for_is_named(launch: LaunchState) -> None:
    target = FormTarget(Operation.TRAIN, values={"algo": "gone", "size": 3, "gamma": "x"})
    assert sorted(launch.open_form(target)) == ["algo", "gamma", "size"]


def test_the_roster_says_who_is_ready_and_what_to_do() -> None:
    broken = worker("broken", is_ready=False)
    entries = roster([worker("fine"), broken], Mode.AGENT)
    assert [(item.title, item.word) for item in entries] == [
        ("Human-Only", "ready"),
        ("The fine", "ready"),
        ("The broken", "not ready"),
    ]
    assert entries[2].fix == 'pip install "it[all]"' and entries[2].fix in entries[2].tooltip
    assert roster([broken], Mode.HUMAN)[0].name == HUMAN


def test_environments_by_family(state: WorkbenchState) -> None:
    choices = family_choices(state.environments)
    assert [item.title for item in choices][:2] == ["Toy text", "Classic control"]
    assert choices[-1].name == CUSTOM and sum(len(item.ids) for item in choices) == 365
    assert family_of("CartPole-v1", choices) == "classic_control"
    assert family_of("Mine-v0", choices) == CUSTOM
    text = about(state.environment("CartPole-v1"), "CartPole-v1")
    assert "Discrete(2)" in text and "solved at 475" in text


@pytest.mark.parametrize(
    ("text", "found"),
    [("cartpole-V1", "CartPole-v1"), ("pole", "CartPole-v1"), (" Mine-v0 ", "Mine-v0"), ("", "")],
)
def test_typed_ids(text: str, found: str) -> None:
    ids = ("CartPole-v1", "Acrobot-v1")
    assert typed_id(text, ids if text else ()) == found


def test_policies_newest_first_and_only_what_fits(state: WorkbenchState) -> None:
    state.runs.update(
        [
            record(1, worker=WORKER, checkpoint_uri="c"),
            record(2, worker=WORKER, checkpoint_uri="c", env_id="Acrobot-v1"),
            record(3, worker=WORKER),
            record(4, worker="other", checkpoint_uri="c"),
        ]
    )
    every = policy_choices(state.runs, worker=WORKER)
    assert [item.env_id for item in every] == ["Acrobot-v1", "CartPole-v1"]
    assert len(policy_choices(state.runs, env_id="CartPole-v1")) == 2


def test_playing_needs_keys_and_together_a_policy(
    launch: LaunchState, state: WorkbenchState
) -> None:
    state.set_mode(Mode.HUMAN)
    rows, _ = key_rows(launch)
    assert rows and play_problem(launch) is None
    target = launch.play_target()
    assert target is not None and (target.env_id, target.mode) == ("CartPole-v1", Mode.HUMAN)
    state.choose_environment("Ant-v5")
    assert "motors" in str(play_problem(launch)) and key_rows(launch)[0] == []
    state.choose_environment("CartPole-v1")
    state.set_mode(Mode.HYBRID)
    assert "policy" in str(play_problem(launch)) and launch.play_target() is None
    launch.play_policy = POLICY
    assert play_problem(launch) is None
    together = launch.play_target()
    assert together is not None and together.policy == POLICY
    state.choose_environment("Acrobot-v1")
    assert "CartPole-v1" in str(play_problem(launch))


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("metadata.worker.config.extras.algo_params.gamma", "gamma"),
        ("metadata.worker.config.env_id", "env_id"),
        ("resources.gpus.requested", "use_gpu"),
        ("retry.max_attempts", "retries"),
        ("environment.WANDB_API_KEY", "wandb_api_key"),
        ("run_name", "run_name"),
        ("metadata.worker.config.extras.algo_params.env_kwargs.key[0]", "env_kwargs"),
        ("nowhere.to.be[3]", ""),
    ],
)
def test_errors_find_their_field(launch: LaunchState, path: str, name: str) -> None:
    assert field_of_error(ConfigError("no", field=path), launch.form.form) == name


def test_errors_without_a_field(launch: LaunchState) -> None:
    assert field_of_error(GpuError("no GPU"), launch.form.form) == "use_gpu"
    assert error_sentence(GpuError("it failed.", hint="try again")) == "It failed. Try again"


def test_the_roster_reads_as_people_expect_it(state: WorkbenchState) -> None:
    entries = LaunchState(state).entries
    titles = [entry.title for entry in entries]
    assert titles[:4] == [
        "Human-Only",
        "Spade BDI Worker",
        "LLM Multi-Step Worker",
        "CleanRL Worker",
    ]
    assert set(titles[4:]) == {"Baseline policies", "Any script"}
    absent = {entry.title: entry for entry in entries if not entry.is_installed}
    assert set(absent) == {"LLM Multi-Step Worker"}
    assert all(entry.word == "not installed" and entry.needs for entry in absent.values())
    hybrid = roster(state.workers, Mode.HYBRID, known_workers())
    assert [entry.title for entry in hybrid] == ["Spade BDI Worker", "CleanRL Worker"]


def test_a_known_worker_that_is_installed_speaks_for_itself() -> None:
    known = (KnownWorker(("bdi", "old_bdi"), "Known title", "About", "a server"),)
    own = worker("old_bdi")
    entries = roster([worker("other"), own], Mode.AGENT, known)
    assert [entry.title for entry in entries] == ["Human-Only", "The old_bdi", "The other"]


def test_a_worker_that_is_not_installed_is_explained_and_left_again(state: WorkbenchState) -> None:
    launch = LaunchState(state)
    launch.choose("llm_multi_step_worker")
    assert launch.absent is not None and launch.absent.title == "LLM Multi-Step Worker"
    assert launch.chosen_entry == "llm_multi_step_worker" and launch.worker == "cleanrl"
    launch.choose("cleanrl")
    assert launch.absent is None and launch.chosen_entry == "cleanrl"
    launch.choose("llm_multi_step_worker")
    state.set_workers([*state.workers, worker("llm_multi_step_worker")])
    assert launch.absent is None, "it is here now"


def test_an_environment_that_is_asked_for_finds_a_worker(state: WorkbenchState) -> None:
    launch = LaunchState(state)
    launch.choose("script")
    state.choose_environment("MountainCar-v0")
    assert launch.worker == "script", "nobody asked for it"
    state.ask_environment("MountainCar-v0")
    assert launch.worker == "cleanrl" and launch.form.has_environment
    said: list[Notice] = []
    state.said.connect(said.append)
    launch.choose("script")
    state.set_catalogue([], state.environments)
    state.ask_environment("CartPole-v1")
    assert launch.worker == "script" and "No installed worker" in said[0].text
