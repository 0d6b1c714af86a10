"""The form of a training whose algorithms are scripts of somebody else."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.cli.commands.train import chosen_algorithm, training_document
from mosaic.cli.main import build_parser
from mosaic.contracts.learner import Mode
from mosaic.contracts.options import of_mode
from mosaic.front.catalogue import source_algorithms
from mosaic.front.flags import flag_settings
from mosaic.front.set_values import parse_settings
from mosaic.gui.launch.model.saved_launch import saved_form
from mosaic.gui.launch.model.train_form import TrainForm
from mosaic.gui.state.compatibility import extras_of
from mosaic.gui.state.rerun import form_values
from tests.unit.gui.launch_samples import filled_state

SCRIPT = """
from dataclasses import dataclass
import tyro

@dataclass
class Args:
    seed: int = 1
    env_id: str = "CartPole-v1"
    total_timesteps: int = 500000
    learning_rate: float = 2.5e-4
    own_idea: float = 0.5
    \"\"\"what no other script has\"\"\"

if __name__ == "__main__":
    args = tyro.cli(Args)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("aaa", "ppo"):
        (tmp_path / f"{name}.py").write_text(SCRIPT)
    return tmp_path


@pytest.fixture
def form() -> TrainForm:
    state = filled_state()
    state.choose_environment("CartPole-v1")
    return TrainForm(state, "cleanrl")


def choose(form: TrainForm, folder: Path) -> None:
    form.form.set("source", "upstream")
    form.form.set("upstream_path", str(folder))
    read(form)


def read(form: TrainForm) -> None:
    source = form.unread_source
    assert source is not None
    form.show_source(source, source_algorithms(*source))


def test_the_form_asks_for_the_place_only_when_it_is_needed(form: TrainForm) -> None:
    assert not form.form.is_shown("upstream_path")
    form.form.set("source", "upstream")
    assert form.form.is_shown("upstream_path")
    assert form.unread_source is None, "there is nothing to read yet"
    problem = form.problem()
    assert problem is not None and problem.field == "upstream_path"
    assert "folder" in problem.text


def test_nothing_starts_before_the_place_is_read(form: TrainForm, folder: Path) -> None:
    form.form.set("source", "upstream")
    form.form.set("upstream_path", str(folder))
    problem = form.problem()
    assert problem is not None and "Reading" in problem.text
    read(form)
    assert form.problem() is None


def test_algorithms_and_parameters_are_those_of_the_scripts(form: TrainForm, folder: Path) -> None:
    choose(form, folder)
    assert [choice.value for choice in form.form.field("algo").choices] == ["aaa", "ppo"]
    assert form.form.value("algo") == "ppo", "the one that was chosen before"
    assert "own_idea" in form.form and "network" not in form.form
    form.form.set("own_idea", "0.25")
    [document] = form.prepare()()
    config = document["metadata"]["worker"]["config"]
    assert config["extras"] == {
        "source": "upstream",
        "upstream_path": str(folder),
        "algo_params": {"own_idea": 0.25},
    }
    form.form.reset("source")
    assert "network" in form.form and form.problem() is None


def test_an_error_of_reading_is_told_at_the_place(form: TrainForm, tmp_path: Path) -> None:
    form.form.set("source", "upstream")
    form.form.set("upstream_path", str(tmp_path / "nowhere"))
    source = form.unread_source
    assert source is not None
    form.show_source(source, [], "There is no such folder")
    assert form.form.error("upstream_path") == "There is no such folder"
    form.form.set("upstream_path", str(tmp_path))
    assert "Reading" in form.form.error("upstream_path")


def test_the_copied_command_starts_the_same_run(form: TrainForm, folder: Path) -> None:
    choose(form, folder)
    form.form.set("own_idea", "0.25")
    form.form.set("compatibility", False)
    arguments = build_parser().parse_args(form.command_words())
    known = of_mode(extras_of(form.worker_info), Mode.TRAIN)
    extras = {
        **parse_settings(arguments.extra, {}),
        **flag_settings(arguments.worker_flags, known, "cleanrl"),
    }
    made = training_document(chosen_algorithm(arguments), arguments, extras, arguments.seed, 1)
    [document] = form.prepare()()
    assert made["metadata"]["worker"]["config"] == document["metadata"]["worker"]["config"]


def test_a_run_is_edited_with_its_scripts(form: TrainForm, folder: Path) -> None:
    choose(form, folder)
    form.form.set("algo", "aaa")
    form.form.set("own_idea", "0.25")
    [document] = form.prepare()()
    values = form_values(document)
    values.pop("worker")
    other = TrainForm(form.state, "cleanrl")
    assert other.load(values) == []
    read(other)
    assert other.prepare()() == [document]
    third = TrainForm(form.state, "cleanrl")
    saved_form(form).fill(third)
    read(third)
    assert third.prepare()() == [document]


def test_a_run_of_the_worker_itself_takes_the_form_back(form: TrainForm, folder: Path) -> None:
    choose(form, folder)
    assert form.load({"algo": "dqn", "env_id": "CartPole-v1", "buffer_size": 500}) == []
    assert form.unread_source is None and "own_idea" not in form.form
    [document] = form.prepare()()
    assert "source" not in document["metadata"]["worker"]["config"]["extras"]
