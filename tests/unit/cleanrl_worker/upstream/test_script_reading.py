"""Upstream's scripts are read, never executed: parameters of both generations, and imports."""

from __future__ import annotations

from pathlib import Path

import pytest

from cleanrl_worker.upstream.script_reading import UNKNOWN, Parameter, Style, read_script
from mosaic.errors import ConfigError
from tests.unit.cleanrl_worker.upstream.upstream_samples import ARGPARSE, TYRO, write_script


def parameters(tmp_path: Path, text: str) -> dict[str, Parameter]:
    return dict(read_script(write_script(tmp_path, "ppo", text)).parameters)


def test_argparse_generation_is_read(tmp_path: Path) -> None:
    script = read_script(write_script(tmp_path, "ppo", ARGPARSE))
    assert (script.name, script.generation) == ("ppo", "argparse")
    assert script.imports == (
        *("argparse", "json", "os", "random"),
        "strtobool_stand_in",
    )
    found = script.parameters
    assert [*found] == [
        *("exp_name", "gym_id", "seed", "total_timesteps", "learning_rate", "cuda", "track"),
        *("save_model", "anneal", "norm", "backend", "device_ids"),
    ]
    assert found["gym_id"] == Parameter(
        "gym_id", "--gym-id", Style.VALUE, "string", "CartPole-v1", help="the environment"
    )
    assert found["exp_name"].default is UNKNOWN
    assert (found["total_timesteps"].type, found["total_timesteps"].default) == ("integer", 500_000)
    assert (found["learning_rate"].option, found["learning_rate"].type) == (
        "--learning-rate",
        "number",
    )
    assert found["backend"].choices == ("gloo", "nccl")
    assert (found["device_ids"].type, found["device_ids"].default) == (None, [])


@pytest.mark.parametrize(
    ("name", "default", "on", "off"),
    [
        ("cuda", True, ["--cuda=True"], ["--cuda=False"]),
        ("track", False, ["--track=True"], ["--track=False"]),
        ("save_model", False, ["--save-model"], []),
        ("anneal", True, [], ["--no-anneal"]),
        ("norm", True, ["--norm"], ["--no-norm"]),
    ],
)
def test_truths_of_argparse_are_written_as_it_reads_them(
    tmp_path: Path, name: str, default: bool, on: list[str], off: list[str]
) -> None:
    parameter = parameters(tmp_path, ARGPARSE)[name]
    assert (parameter.type, parameter.default) == ("boolean", default)
    assert (parameter.words(True), parameter.words(False)) == (on, off)


def test_tyro_generation_is_read(tmp_path: Path) -> None:
    script = read_script(write_script(tmp_path, "ppo", TYRO))
    assert script.generation == "tyro"
    assert script.imports == ("os", "dataclasses", "typing", "tyro")
    found = script.parameters
    assert [*found] == [
        *("seed", "exp_name", "cuda", "track", "env_id", "total_timesteps", "target_kl"),
        *("warmup", "limit", "is_sure", "must", "kind", "rate", "sizes"),
    ]
    assert found["seed"] == Parameter(
        "seed", "--seed", Style.VALUE, "integer", 1, help="seed of the experiment"
    )
    assert found["env_id"].help == "the id of the environment"
    assert found["exp_name"].default is UNKNOWN
    assert found["total_timesteps"].default == 1_000_000
    types = {name: parameter.type for name, parameter in found.items()}
    assert types["target_kl"] == "number"
    assert (types["warmup"], types["limit"]) == ("integer", "integer")
    assert (types["rate"], found["rate"].default) == ("number", 0.5)
    assert (found["kind"].choices, types["kind"]) == (("a", "b"), None)
    assert types["sizes"] is None


def test_truths_of_tyro_are_pairs_of_flags_unless_it_wants_a_word(tmp_path: Path) -> None:
    found = parameters(tmp_path, TYRO)
    assert found["cuda"].words(False) == ["--no-cuda"]
    assert found["track"].words(True) == ["--track"]
    assert found["is_sure"].words(True) == ["--is-sure=True"]
    assert found["is_sure"].type == "boolean"


def test_values_are_checked_and_written_by_their_type(tmp_path: Path) -> None:
    found = {**parameters(tmp_path, TYRO), **parameters(tmp_path / "old", ARGPARSE)}
    assert found["total_timesteps"].words(1e6) == ["--total-timesteps=1000000"]
    assert found["learning_rate"].words(1) == ["--learning-rate=1"]
    assert found["sizes"].words([32, 64]) == ["--sizes", "32", "64"]
    assert found["total_timesteps"].problem(2.5)
    assert found["cuda"].problem(1) and found["cuda"].problem("False")
    assert found["backend"].problem("mpi") and not found["backend"].problem("nccl")
    assert found["seed"].problem([1])
    assert not found["sizes"].problem([1])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("print('hello')\n", "takes no flags"),
        ("def f(:\n", "cannot be read"),
        ("x = 1\0\n", "cannot be read"),
        ("from dataclasses import dataclass\nimport tyro\ntyro.cli(Args)\n", "takes no flags"),
    ],
)
def test_what_is_no_script_with_flags_is_refused(tmp_path: Path, text: str, said: str) -> None:
    path = write_script(tmp_path, "odd", text)
    with pytest.raises(ConfigError, match=said) as caught:
        read_script(path)
    assert caught.value.details["field"] == "algo"
    assert str(path) in caught.value.message


def test_reading_does_not_execute(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    text = f"from pathlib import Path\nPath({str(mark)!r}).touch()\n{TYRO}"
    assert "env_id" in parameters(tmp_path, text)
    assert not mark.exists()
