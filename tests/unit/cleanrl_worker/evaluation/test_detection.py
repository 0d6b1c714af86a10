"""From a path to env, algorithm, seed and arguments, with every file that may lie beside it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from cleanrl_worker.evaluation.detection import detect_policy
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from mosaic.errors import CheckpointError, ConfigError

WEIGHTS = {"weight": torch.zeros(2)}
DESCRIPTION = {
    "algorithm": "dqn",
    "env_id": "Acrobot-v1",
    "seed": 5,
    "arguments": {"gamma": 0.9, "env_kwargs": {"x": 1}},
}


def save_checkpoint(folder: Path, description: dict[str, Any] | None = None) -> Path:
    store = CheckpointStore(folder, "my-exp", description=description or DESCRIPTION)
    return store.save(100, WEIGHTS, {}, metric=1.0).path


def save_weights(folder: Path, name: str = "ppo.cleanrl_model") -> Path:
    """As CleanRL leaves them: no training state."""
    folder.mkdir(parents=True, exist_ok=True)
    torch.save(WEIGHTS, folder / name)
    return folder / name


def save_trainer_config(path: Path, **worker_config: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"metadata": {"worker": {"config": worker_config}}}))


def test_manifest_of_the_training_state_tells_everything(tmp_path: Path) -> None:
    source = detect_policy(save_checkpoint(tmp_path))
    assert (source.algo, source.env_id, source.seed) == ("dqn", "Acrobot-v1", 5)
    assert source.arguments == DESCRIPTION["arguments"]
    assert source.env_kwargs == {"x": 1}
    assert source.state_folder == tmp_path / "my-exp.state"


@pytest.mark.parametrize(
    "choose",
    [
        lambda run: run / "my-exp-best.cleanrl_model",
        lambda run: run / "my-exp.state" / "model-100.cleanrl_model",
        lambda run: run / "my-exp.state",
        lambda run: run,
        lambda run: run.parent.parent,
    ],
    ids=["best", "generation", "state folder", "run folder", "folder of the whole run"],
)
def test_every_way_to_name_a_checkpoint(tmp_path: Path, choose: Any) -> None:
    run = tmp_path / "runs" / "Acrobot-v1__my-exp__5__17"
    save_checkpoint(run)
    source = detect_policy(choose(run))
    assert (source.algo, source.env_id, source.seed) == ("dqn", "Acrobot-v1", 5)


@pytest.mark.parametrize("env_id", ["CartPole-v1", "ALE/Pong-v5"])
def test_name_of_the_run_folder_tells_where_there_are_only_weights(
    tmp_path: Path, env_id: str
) -> None:
    folder = tmp_path / f"{env_id.replace('/', '%2F')}__ppo__3__1700000000"
    for path in (save_weights(folder), folder):
        source = detect_policy(path)
        assert (source.algo, source.env_id, source.seed) == ("ppo", env_id, 3)
        assert source.state_folder is None


def test_trainer_config_tells_where_the_name_does_not(tmp_path: Path) -> None:
    path = save_weights(tmp_path / "runs" / "RUN1" / "runs" / "mine")
    save_trainer_config(
        tmp_path / "configs" / "config-RUN1.json",
        algo="c51",
        env_id="CartPole-v1",
        seed=9,
        extras={"gamma": 0.5, "algo_params": {"n_atoms": 11}},
    )
    source = detect_policy(path)
    assert (source.algo, source.env_id, source.seed) == ("c51", "CartPole-v1", 9)
    assert source.arguments["n_atoms"] == 11
    assert source.arguments["gamma"] == 0.5


def test_flat_trainer_config_inside_the_run_is_read_too(tmp_path: Path) -> None:
    path = save_weights(tmp_path / "RUN1" / "deep")
    config = {"algo": "dqn", "env_id": "CartPole-v1"}
    (tmp_path / "RUN1" / "config-RUN1.json").write_text(json.dumps(config))
    assert detect_policy(path).algo == "dqn"


def test_experiment_of_ones_own_name_needs_the_config_for_its_algorithm(tmp_path: Path) -> None:
    path = save_weights(tmp_path / "runs" / "RUN1" / "runs" / "CartPole-v1__my-idea__2__17")
    with pytest.raises(ConfigError) as refusal:
        detect_policy(path)
    assert refusal.value.details["field"] == "algo"
    save_trainer_config(tmp_path / "configs" / "config-RUN1.json", algo="dqn", env_id="Other-v0")
    source = detect_policy(path)
    assert (source.algo, source.env_id, source.seed) == ("dqn", "CartPole-v1", 2)


def test_damaged_trainer_config_counts_for_nothing(tmp_path: Path) -> None:
    path = save_weights(tmp_path / "runs" / "RUN1")
    (tmp_path / "configs").mkdir()
    for content in ("{", "[]", '{"metadata": {"worker": {"config": 3}}}', '{"algo": 3}'):
        (tmp_path / "configs" / "config-RUN1.json").write_text(content)
        with pytest.raises(ConfigError) as refusal:
            detect_policy(path)
        assert refusal.value.details["field"] == "algo"


@pytest.mark.parametrize(
    ("given", "missing"), [({"env_id": "A-v0"}, "algo"), ({"algo": "ppo"}, "env_id")]
)
def test_what_cannot_be_detected_is_named(
    tmp_path: Path, given: dict[str, Any], missing: str
) -> None:
    with pytest.raises(ConfigError, match=f"'{missing}'") as refusal:
        detect_policy(save_weights(tmp_path), **given)
    assert refusal.value.details["field"] == missing
    assert missing in refusal.value.hint


def test_overrides_win(tmp_path: Path) -> None:
    source = detect_policy(save_checkpoint(tmp_path), algo="c51", env_id="CartPole-v1", seed=0)
    assert (source.algo, source.env_id, source.seed) == ("c51", "CartPole-v1", 0)
    assert source.trained_env_id == "Acrobot-v1"
    assert source.env_kwargs == {}, "they belong to the other environment"


def test_weights_alone_with_everything_given_need_no_file(tmp_path: Path) -> None:
    source = detect_policy(save_weights(tmp_path), algo="ppo", env_id="CartPole-v1")
    assert (source.seed, source.trained_env_id, source.arguments) == (1, None, {})


def test_unknown_algorithm_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="algo") as refusal:
        detect_policy(save_weights(tmp_path), algo="pppo", env_id="CartPole-v1")
    assert "ppo" in refusal.value.hint


def test_missing_and_empty_places_are_named(tmp_path: Path) -> None:
    for path in (tmp_path / "nothing.cleanrl_model", tmp_path):
        with pytest.raises(CheckpointError, match=str(path)):
            detect_policy(path)


def test_damaged_manifest_is_refused(tmp_path: Path) -> None:
    path = save_checkpoint(tmp_path)
    (tmp_path / "my-exp.state" / "manifest.json").write_text("{")
    with pytest.raises(CheckpointError, match="damaged"):
        detect_policy(path)


@pytest.mark.parametrize(
    "description",
    [
        {**DESCRIPTION, "env_id": "this:CartPole-v1"},
        {**DESCRIPTION, "env_id": "my.package:Acrobot-v1"},
        {**DESCRIPTION, "arguments": {"env_kwargs": {"xml_file": "/tmp/ant.xml"}}},
        {**DESCRIPTION, "arguments": {"env_kwargs": {"x": "os:system"}}},
    ],
)
def test_what_only_a_person_may_say_is_not_taken_from_a_file(
    tmp_path: Path, description: dict[str, Any]
) -> None:
    path = save_checkpoint(tmp_path, description)
    with pytest.raises(ConfigError, match="a file beside") as refused:
        detect_policy(path)
    assert "say it yourself" in refused.value.hint
    kwargs = {"xml_file": "/tmp/mine.xml"}
    source = detect_policy(path, env_id="my:Acrobot-v1", env_kwargs=kwargs)
    assert (source.env_id, source.env_kwargs) == ("my:Acrobot-v1", kwargs)


@pytest.mark.parametrize("place", ["config beside the runs", "name of the folder"])
def test_neither_a_config_nor_a_folder_names_a_module(tmp_path: Path, place: str) -> None:
    folder = tmp_path / "runs" / "RUN"
    if place == "name of the folder":
        folder = folder / "this%3ACartPole-v1__ppo__1__17"
    else:
        config = tmp_path / "configs" / "config-RUN.json"
        save_trainer_config(config, algo="ppo", env_id="this:CartPole-v1")
    with pytest.raises(ConfigError, match="a file beside"):
        detect_policy(save_weights(folder))
