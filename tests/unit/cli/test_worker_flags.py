"""A learner that is installed beside MOSAIC brings its own options: core knows none of them."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

import pytest

from mosaic.cli.commands.train import chosen_algorithm, training_document
from mosaic.cli.main import build_parser
from mosaic.contracts.learner import Mode
from mosaic.contracts.options import of_mode
from mosaic.errors import RequestError
from mosaic.front.flags import flag_settings
from mosaic.gui.launch.model.train_form import TrainForm
from mosaic.gui.state.compatibility import extras_of
from tests.unit.gui.launch_samples import filled_state

PACKAGE = Path(__file__).resolve().parents[2] / "fixtures" / "second_learner"
WORKER, FLAG = "second", "--begin-from"


@pytest.fixture
def second_learner(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PACKAGE))
    monkeypatch.delitem(sys.modules, "second_learner", raising=False)


@pytest.mark.usefixtures("second_learner")
def test_the_form_the_parser_the_command_and_the_config_have_its_option(tmp_path: Path) -> None:
    form = TrainForm(filled_state(), WORKER)
    field = form.form.field("begin_from")
    assert (field.title, field.section) == ("Start from", "Run")
    assert field.placeholder == "an empty table"
    table = str(tmp_path / "a table")
    form.form.set("begin_from", table)
    form.form.set("curiosity", "0.5")
    assert form.problem() is None
    words = shlex.split(form.command)[1:]
    assert f"{FLAG} '{table}'" in form.command and "--extra" not in words

    arguments = build_parser(words).parse_args(words)
    assert arguments.worker_flags == {FLAG: table, "--curiosity": 0.5}
    algorithm = chosen_algorithm(arguments)
    known = of_mode(extras_of(form.worker_info), Mode.TRAIN)
    extras = flag_settings(arguments.worker_flags, known, algorithm.worker)
    assert extras == {"begin_from": table, "curiosity": 0.5}

    [document] = form.prepare()()
    assert document["metadata"]["worker"]["config"]["extras"] == extras
    assert document == training_document(algorithm, arguments, extras, arguments.seed, 1)


@pytest.mark.usefixtures("second_learner")
def test_an_option_is_refused_by_the_name_of_a_worker_that_lacks_it() -> None:
    state = filled_state()
    first = of_mode(extras_of(state.worker("cleanrl")), Mode.TRAIN)
    with pytest.raises(RequestError, match=f"cleanrl has no option for {FLAG}"):
        flag_settings({FLAG: "latest"}, first, "cleanrl")
    second = of_mode(extras_of(state.worker(WORKER)), Mode.TRAIN)
    with pytest.raises(RequestError, match="second has no option for --track"):
        flag_settings({"--track": True}, second, WORKER)


def test_a_file_is_the_one_in_the_folder_where_the_command_is_typed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["train", "q_learning", "FrozenLake-v1", "--plan", "mine.asl", "--coach-plan", "/a.asl"]
    given = build_parser(words).parse_args(words).worker_flags
    assert given == {"--plan": str(tmp_path / "mine.asl"), "--coach-plan": "/a.asl"}


def test_a_learner_that_is_not_installed_has_no_flags() -> None:
    with pytest.raises(RequestError, match=FLAG):
        build_parser().parse_args(["train", "ppo", FLAG, "x"])


@pytest.mark.usefixtures("second_learner")
def test_help_lists_its_flags(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(["train", "--help"])
    shown = " ".join(capsys.readouterr().out.split())
    assert f"{FLAG} RUN|PATH start from: the table that another training has learned" in shown


@pytest.mark.usefixtures("second_learner")
@pytest.mark.parametrize("word", ["x", "2", "nan"])
def test_a_value_beyond_its_bounds_is_refused_by_the_flag(word: str) -> None:
    with pytest.raises(RequestError, match="argument --curiosity: "):
        build_parser().parse_args(["train", "corridor_sarsa", "--curiosity", word])
