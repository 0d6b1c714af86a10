"""The form of a training: its documents, and the command that does the same."""

from __future__ import annotations

import json
import shlex

import pytest

from mosaic.cli.commands.train import chosen_algorithm, training_document
from mosaic.cli.main import build_parser
from mosaic.contracts.catalogue import HYPERPARAMETERS
from mosaic.contracts.learner import Mode
from mosaic.contracts.options import of_mode
from mosaic.contracts.run_config import parse_run_config
from mosaic.front.flags import flag_settings
from mosaic.front.set_values import parse_settings
from mosaic.front.training_config import parse_seeds, train_document
from mosaic.gui.launch.model.shared_fields import WANDB_KEY
from mosaic.gui.launch.model.train_form import TrainForm
from mosaic.gui.state.compatibility import extras_of
from mosaic.gui.state.rerun import form_values, training_of
from mosaic.gui.state.workbench_state import Connection, WorkbenchState
from tests.unit.gui.launch_samples import filled_state, health, worker

WORKER = "cleanrl"


@pytest.fixture
def state() -> WorkbenchState:
    return filled_state()


@pytest.fixture
def form(state: WorkbenchState) -> TrainForm:
    return TrainForm(state, WORKER)


def test_the_defaults_are_ready_to_train(form: TrainForm) -> None:
    assert form.problem() is None
    assert form.footprint().text == "CPU · 2 GB"
    [document] = form.prepare()()
    assert parse_run_config(document).run_name == "ppo-CartPole-v1-seed1"
    assert document["metadata"]["worker"]["config"]["extras"] == {}


def test_several_seeds_are_a_group_on_a_cpu_each(form: TrainForm) -> None:
    form.form.set("algo", "dqn_atari")
    form.state.choose_environment("ALE/Pong-v5")
    assert form.footprint().cpus == 2
    form.form.set("seeds", "1..5")
    assert form.footprint().text == "5 runs · CPU · 12 GB each"
    documents = form.prepare()()
    assert [item["metadata"]["worker"]["config"]["seed"] for item in documents] == [1, 2, 3, 4, 5]
    assert {item["metadata"]["group"] for item in documents} == {"dqn_atari-ALE-Pong-v5"}


def test_cpus_are_limited_by_the_machine(form: TrainForm, state: WorkbenchState) -> None:
    state.set_health(health(cpus_total=1))
    form.form.set("algo", "sac_continuous_action")
    assert form.footprint().cpus == 1


@pytest.mark.parametrize(
    "entries",
    [
        {},
        {"seeds": "1..3", "run_name": "it's a name", "cpus": "2", "priority": "-5"},
        {"total_timesteps": "1e4", "learning_rate": "1e-3", "anneal_lr": False, "network": "mlp"},
        {"track_wandb": True, "wandb_entity": "team a", "notes": "-x; rm -rf ~ 'quoted'\nline"},
        {"fastlane_video_mode": "single", "fastlane_slot": "2", "agent_id": "a.1"},
        {"fastlane_grid_limit": "8", "worker_id": "w", "retries": "2", "memory_mb": "4096"},
        {"target_kl": "0.01", "env_kwargs": '{"sutton_barto_reward": true}', "tensorboard": True},
        {"capture_video": True, "save_model": False, "seeds": ""},
        {"algo": "dqn", "buffer_size": "500_000"},
    ],
)
def test_the_copied_command_starts_the_same_runs(
    form: TrainForm, entries: dict[str, object]
) -> None:
    for name, entry in entries.items():
        form.form.set(name, entry)
    assert form.problem() is None
    words = shlex.split(form.command)
    assert words[:2] == ["mosaic", "train"]
    arguments = build_parser().parse_args(words[1:])
    algorithm = chosen_algorithm(arguments)
    seeds = parse_seeds(arguments.seeds) if arguments.seeds else [arguments.seed]
    cpus = arguments.cpus or (1 if arguments.seeds else algorithm.cpus)
    known = of_mode(extras_of(form.worker_info), Mode.TRAIN)
    extras = {
        **parse_settings(arguments.extra, {}),
        **flag_settings(arguments.worker_flags, known, WORKER),
    }
    typed = [training_document(algorithm, arguments, extras, seed, cpus) for seed in seeds]
    assert typed == form.prepare()()
    for document in typed:
        parse_run_config(document)


def test_the_key_goes_into_the_environment_and_nowhere_else(form: TrainForm) -> None:
    form.form.set("wandb_api_key", "hush-hush")
    assert "hush" not in json.dumps(form.prepare()())  # it is not tracked at all
    form.form.set("track_wandb", True)
    [document] = form.prepare()()
    assert document["environment"] == {WANDB_KEY: "hush-hush"}
    assert "hush" not in json.dumps({**document, "environment": {}})
    assert "hush" not in form.command and WANDB_KEY in form.command
    assert "hush" not in json.dumps(form.preset_values())


def test_an_environment_that_does_not_fit_is_told_with_algorithms_that_do(
    form: TrainForm, state: WorkbenchState
) -> None:
    state.choose_environment("Acrobot-v1")
    form.form.set("algo", "sac_continuous_action")
    problem = form.problem()
    assert problem is not None and problem.field == "algo"
    assert "Acrobot-v1 has discrete actions" in problem.text
    assert "sac_continuous_action needs continuous: try ppo" in problem.text


def test_an_algorithm_nobody_chose_follows_the_environment(
    form: TrainForm, state: WorkbenchState
) -> None:
    assert form.form.value("algo") == "ppo"
    state.choose_environment("Pendulum-v1")
    form.refresh()
    assert form.form.value("algo") == "ppo_continuous_action"
    assert form.problem() is None


def test_parameters_wait_while_another_algorithm_is_looked_at(form: TrainForm) -> None:
    form.form.set("learning_rate", "1e-3")
    form.form.set("total_timesteps", "1e4")
    form.form.set("algo", "dqn")
    assert not form.form.is_changed("learning_rate")
    assert form.form.value("total_timesteps") == 10_000
    form.form.set("algo", "ppo")
    assert form.form.value("learning_rate") == 1e-3


def test_every_parameter_has_one_field(form: TrainForm) -> None:
    algorithm = form.algorithm
    assert algorithm is not None
    names = [item.name for item in form.form.fields]
    assert len(names) == len(set(names))
    decided = {"env_id", "seed", "cuda", "track", "tensorboard_dir", "exp_name"}
    assert set(algorithm.parameters) - decided <= set(names)
    assert any(item.section == HYPERPARAMETERS for item in form.form.fields)


def test_without_a_gpu_it_cannot_be_asked_for(form: TrainForm, state: WorkbenchState) -> None:
    assert "no GPU" in form.form.field("use_gpu").disabled_reason
    form.form.load({"use_gpu": True})
    problem = form.problem()
    assert problem is not None and problem.field == "use_gpu"
    state.set_health(health(gpus_total=1))
    form.refresh()
    assert form.problem() is None and form.footprint().text == "GPU · 2 GB"
    [document] = form.prepare()()
    assert document["resources"]["gpus"] == {"requested": 1, "mandatory": True}


def test_what_stands_in_the_way_is_said(form: TrainForm, state: WorkbenchState) -> None:
    state.set_connection(Connection.LOST)
    assert "daemon" in str(form.problem())
    state.set_connection(Connection.ONLINE)
    state.set_workers([worker(WORKER, is_ready=False)])
    assert "pip install" in str(form.problem())
    state.set_workers([])
    form.refresh()
    assert "gone" in str(form.problem())


@pytest.mark.parametrize("env_id", ["", "Cart Pole", "a\nb", "x" * 10_000])
def test_hostile_environments(form: TrainForm, state: WorkbenchState, env_id: str) -> None:
    state.choose_environment(env_id)
    form.refresh()
    problem = form.problem()
    assert problem is not None and problem.field == "env_id" and len(problem.text) < 100


def test_an_environment_without_its_packages(form: TrainForm, state: WorkbenchState) -> None:
    from dataclasses import replace

    lander = state.environment("LunarLander-v3")
    assert lander is not None
    missing = replace(lander, install_command='pip install "mosaic-rl[box2d]"')
    state.set_catalogue(state.algorithms, [missing])
    state.choose_environment(lander.id)
    assert form.problem() is None, "what its bundles hold the daemon knows"
    state.set_workers(
        replace(item, capabilities=replace(item.capabilities, bundle_rules=()))
        for item in state.workers
        if item.capabilities is not None
    )
    assert 'pip install "mosaic-rl[box2d]"' in str(form.problem())


def test_emoji_names(form: TrainForm) -> None:
    form.form.set("run_name", "🚀")
    assert "letter" in str(form.problem())
    form.form.set("run_name", "🚀 moon")
    assert form.problem() is None
    assert form.prepare()()[0]["run_name"] == "-moon-seed1"


def test_a_config_comes_back_into_the_form(form: TrainForm) -> None:
    from mosaic.gui.state.rerun import form_values

    form.form.set("algo", "dqn")
    form.form.set("learning_rate", "1e-3")
    form.form.set("seeds", "7")
    form.form.set("notes", "as before")
    [document] = form.prepare()()
    other = TrainForm(form.state, WORKER)
    assert other.load(form_values(document)) == []
    assert other.prepare()() == [document]


def test_presets_come_back(form: TrainForm) -> None:
    form.form.set("algo", "c51")
    form.form.set("seeds", "1..3")
    saved = json.loads(json.dumps(form.preset_values()))
    other = TrainForm(form.state, WORKER)
    assert other.load(saved) == []
    assert other.prepare()() == form.prepare()()


# Recipes


def test_a_recipe_fills_the_fields_and_later_edits_are_changes() -> None:
    state = filled_state()
    form = TrainForm(state, "cleanrl")
    fields = form.form
    fields.set("learning_rate", "0.5")
    choices = [choice.text for choice in fields.field("recipe").choices]
    assert "tuned (RL Baselines3 Zoo), expect ≥ 475" in choices
    fields.set("recipe", "tuned")
    assert fields.value("learning_rate") == 0.001 and fields.value("total_timesteps") == 100_000
    assert fields.field("learning_rate").origin == "from the recipe"
    assert not fields.is_changed("learning_rate"), "it is what the recipe says"
    fields.set("gamma", "0.9")
    assert fields.is_changed("gamma")
    assert form.command == "mosaic train ppo CartPole-v1 --recipe tuned --seed 1 --set gamma=0.9"
    [document] = form.prepare()()
    assert document["metadata"]["recipe"] == "tuned"
    fields.reset("gamma")
    assert fields.value("gamma") == 0.98
    fields.set("recipe", "")
    assert fields.value("learning_rate") == 0.00025 and not fields.field("gamma").origin


def test_a_recipe_is_gone_where_nobody_has_published_one() -> None:
    state = filled_state()
    form = TrainForm(state, "cleanrl")
    form.form.set("recipe", "tuned")
    state.choose_environment("ALE/Pong-v5")
    form.refresh()
    assert "recipe" not in form.form and form.form.value("total_timesteps") == 10_000_000
    assert form.problem() is None


def test_a_run_of_a_recipe_is_edited_as_such() -> None:
    state = filled_state()
    form = TrainForm(state, "cleanrl")
    form.form.set("recipe", "tuned")
    form.form.set("gamma", "0.9")
    [document] = form.prepare()()
    other = TrainForm(state, "cleanrl")
    assert other.load(form_values(document)) == []
    assert other.form.value("recipe") == "tuned"
    assert set(other.form.changed_values()) == {"recipe", "gamma"}
    training = training_of(document, state.algorithms)
    assert training is not None and train_document(training) == document
