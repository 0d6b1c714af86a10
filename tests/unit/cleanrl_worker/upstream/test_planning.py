"""A config as flags of an upstream script, and what the script cannot be told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.config import CleanRLWorkerConfig
from cleanrl_worker.upstream.planning import choose_flags, value_of
from cleanrl_worker.upstream.script_reading import Script, read_script
from mosaic.errors import ConfigError
from tests.unit.cleanrl_worker.upstream.upstream_samples import ARGPARSE, TYRO, write_script


@pytest.fixture
def tyro_script(tmp_path: Path) -> Script:
    return read_script(write_script(tmp_path, "ppo_procgen", TYRO))


@pytest.fixture
def argparse_script(tmp_path: Path) -> Script:
    return read_script(write_script(tmp_path / "old", "ppo_procgen", ARGPARSE))


def config(**changes: Any) -> CleanRLWorkerConfig:
    extras = {"source": "upstream", **changes.pop("extras", {})}
    return CleanRLWorkerConfig(**{"algo": "ppo_procgen", **changes, "extras": extras})


def flags(script: Script, **changes: Any) -> list[str]:
    return choose_flags(config(**changes), script).words


def test_nothing_given_is_nothing_said(tyro_script: Script) -> None:
    assert flags(tyro_script) == []
    assert flags(tyro_script, extras={"cuda": None, "algo_params": {"limit": None}}) == []


def test_each_generation_gets_its_own_spelling(
    tyro_script: Script, argparse_script: Script
) -> None:
    given: dict[str, Any] = {
        "env_id": "Acrobot-v1",
        "total_timesteps": 2048,
        "seed": 3,
        "extras": {"cuda": False, "track_wandb": True},
    }
    assert flags(tyro_script, **given) == [
        *("--env-id=Acrobot-v1", "--total-timesteps=2048", "--seed=3", "--no-cuda", "--track"),
    ]
    assert flags(argparse_script, **given) == [
        *("--gym-id=Acrobot-v1", "--total-timesteps=2048", "--seed=3"),
        *("--cuda=False", "--track=True"),
    ]


def test_extras_of_the_worker_are_no_flags(tyro_script: Script) -> None:
    extras = {
        "mode": "train",
        "notes": "mine",
        "agent_id": "a",
        "fastlane_video_mode": "grid",
        "fastlane_slot": 2,
        "upstream_path": "/somewhere",
        "env_python": "/python",
        "compatibility": False,
        "wandb_email": "a@b.c",
        "use_cuda": True,
        "limit": 5,
        "algo_params": {"target-kl": 0.1, "kind": "b", "sizes": [32, 32]},
    }
    assert flags(tyro_script, extras=extras) == [
        *("--cuda", "--limit=5", "--target-kl=0.1", "--kind=b", "--sizes", "32", "32"),
    ]


@pytest.mark.parametrize(
    ("changes", "field", "guess"),
    [
        ({"extras": {"total_timestep": 3}}, "extras.total_timestep", "total_timesteps"),
        ({"extras": {"algo_params": {"target_k": 1}}}, "extras.algo_params.target_k", "target_kl"),
        ({"extras": {"checkpoint_interval": 3}}, "extras.checkpoint_interval", "it has: cuda"),
        ({"extras": {"capture_video": True}}, "extras.capture_video", "it has: cuda"),
    ],
)
def test_what_the_script_does_not_have_is_refused(
    tyro_script: Script, changes: dict[str, Any], field: str, guess: str
) -> None:
    with pytest.raises(ConfigError, match="is no parameter of") as caught:
        flags(tyro_script, **changes)
    assert caught.value.details["field"] == field
    assert guess in caught.value.hint


@pytest.mark.parametrize(
    ("changes", "field", "said"),
    [
        ({"extras": {"limit": "many"}}, "extras.limit", "integer"),
        ({"extras": {"algo_params": {"kind": "c"}}}, "extras.algo_params.kind", "'c'"),
        ({"env_id": "X-v0", "extras": {"env_id": "Y-v0"}}, "extras.env_id", "given as env_id too"),
        ({"extras": {"limit": 1, "algo_params": {"limit": 1}}}, "extras.algo_params.limit", "too"),
        ({"extras": {"cuda": True, "gpu": False}}, "cuda", "contradict"),
    ],
)
def test_values_that_cannot_be_are_refused(
    tyro_script: Script, changes: dict[str, Any], field: str, said: str
) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        flags(tyro_script, **changes)
    assert caught.value.details["field"] == field


def test_a_script_without_cuda_takes_no_for_an_answer(tmp_path: Path) -> None:
    text = "import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--env-id')\n"
    script = read_script(write_script(tmp_path, "jax", text))
    assert flags(script, extras={"cuda": False, "track_wandb": False}) == []
    with pytest.raises(ConfigError, match="is no parameter"):
        flags(script, extras={"cuda": True})
    with pytest.raises(ConfigError) as caught:
        flags(script, seed=1)
    assert caught.value.details["field"] == "seed"


def test_what_is_not_given_is_known_from_the_source(
    tyro_script: Script, argparse_script: Script
) -> None:
    chosen = choose_flags(config(), argparse_script)
    assert value_of(argparse_script, chosen, "env_id") == "CartPole-v1"
    assert value_of(argparse_script, chosen, "total_timesteps") == 500_000
    chosen = choose_flags(config(total_timesteps=7), tyro_script)
    assert value_of(tyro_script, chosen, "total_timesteps") == 7
    assert value_of(tyro_script, chosen, "exp_name") is None


def test_names_and_parameters_of_our_own_do_not_matter() -> None:
    built = config(algo="no_such_algorithm", extras={"algo_params": {"anything": 1}})
    assert (built.source, built.env_id, built.total_timesteps) == ("upstream", None, None)


@pytest.mark.parametrize(
    ("changes", "field", "said", "hint"),
    [
        ({"algo": None}, "algo", "is required", "the name of the script"),
        (
            {"extras": {"mode": "policy_eval", "policy_path": "/x"}},
            "extras.mode",
            "does not go with",
            "evaluated by this worker",
        ),
        ({"extras": {"mode": "interactive"}}, "extras.mode", "does not go with", "only train"),
        ({"extras": {"source": "github"}}, "extras.source", "github", ""),
        ({"extras": {"compatibility": "yes"}}, "extras.compatibility", "boolean", ""),
        (
            {"extras": {"source": "native", "env_python": "/python"}, "algo": "ppo"},
            "extras.env_python",
            "the source is native",
            "upstream",
        ),
    ],
)
def test_configs_that_make_no_sense_are_refused(
    changes: dict[str, Any], field: str, said: str, hint: str
) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        config(**changes)
    assert caught.value.details["field"] == field
    assert hint in caught.value.hint
