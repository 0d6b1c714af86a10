"""Checkpoints: what is saved can be loaded, and only what is needed is kept."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from cleanrl_worker.kit.checkpoints.finding import find_checkpoint
from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import load_payload, weight_hash
from cleanrl_worker.kit.checkpoints.store import CheckpointStore
from mosaic.errors import CheckpointError, ConfigError
from tests.checkpoint_samples import (
    assert_holds,
    empty_buffer,
    extend_buffer,
    filled_buffer,
    save_step,
    weights,
)


def state_files(directory: Path, kind: str = "") -> list[str]:
    return sorted(path.name for path in (directory / "ppo.state").glob(f"{kind}*"))


def test_a_checkpoint_comes_back_whole_by_every_path_to_it(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "ppo", description={"env_id": "CartPole-v1"})
    saved = save_step(store, 300, filled_buffer(300), metric=12.5)
    assert saved.path == tmp_path / "ppo.cleanrl_model"
    assert (saved.step, saved.is_best) == (300, True)
    for path in (saved.path, tmp_path / "ppo-best.cleanrl_model", tmp_path / "ppo.state", tmp_path):
        checkpoint = load_checkpoint(path)
        assert_holds(checkpoint, 300, with_buffer=True)
        assert checkpoint.description == {"env_id": "CartPole-v1"}
        assert checkpoint.metric == 12.5
        assert not checkpoint.is_final
        assert checkpoint.path.suffix == ".cleanrl_model"


def test_the_published_file_is_what_torch_and_cleanrl_read(tmp_path: Path) -> None:
    saved = save_step(CheckpointStore(tmp_path, "ppo"), 7)
    plain = torch.load(saved.path, weights_only=True)
    assert list(plain) == ["layer.weight", "layer.bias"]
    assert weight_hash(load_payload(saved.path)) == weight_hash(weights(7))
    record = json.loads((tmp_path / "ppo.state" / "manifest.json").read_text())
    listed = record["generations"][0]["files"]["model-7.cleanrl_model"]
    assert saved.sha256 == listed["sha256"]


def test_the_newest_the_best_and_the_final_generation_stay(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "ppo", keep=2)
    metrics = {1: 5.0, 2: 9.0, 3: 1.0, 4: 9.0, 5: None, 6: float("nan")}
    best = [save_step(store, step, metric=metric).is_best for step, metric in metrics.items()]
    assert best == [True, True, False, False, False, False]  # an equal is no better
    assert state_files(tmp_path, "model") == [f"model-{step}.cleanrl_model" for step in (2, 5, 6)]
    assert_holds(load_checkpoint(tmp_path / "ppo-best.cleanrl_model"), 2)
    save_step(store, 7, is_final=True)
    for step in (8, 9, 10):
        save_step(store, step)
    assert state_files(tmp_path, "model") == [
        f"model-{step}.cleanrl_model" for step in (10, 2, 7, 9)
    ]
    assert load_checkpoint(tmp_path, 7).is_final
    assert_holds(load_checkpoint(tmp_path), 10)
    assert_holds(load_checkpoint(tmp_path, 9), 9)
    with pytest.raises(CheckpointError, match="no checkpoint of step 3") as caught:
        load_checkpoint(tmp_path, 3)
    assert caught.value.hint == "there are those of steps 2, 7, 9, 10"


def test_one_generations_own_file_names_it(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "ppo")
    for step in (1, 2, 3):
        save_step(store, step)
    assert_holds(load_checkpoint(tmp_path / "ppo.state" / "model-2.cleanrl_model"), 2)


def test_saving_a_step_again_replaces_it(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "ppo", keep=3)
    for step in (1, 2, 2):
        save_step(store, step, metric=float(step))
    saved = save_step(store, 2, metric=2.0, is_final=True)
    assert saved.is_best
    assert len(state_files(tmp_path, "model")) == 2
    checkpoint = load_checkpoint(tmp_path)
    assert_holds(checkpoint, 2)
    assert checkpoint.is_final


def test_a_worse_policy_of_the_same_step_does_not_cost_the_best(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "ppo", keep=1)
    store.save(5, weights(50), {}, metric=9.0)
    assert not store.save(5, weights(51), {}, metric=1.0).is_best
    assert load_checkpoint(tmp_path / "ppo-best.cleanrl_model").weights["layer.weight"][0, 0] == 50
    assert load_checkpoint(tmp_path, 5).weights["layer.weight"][0, 0] == 51


def test_a_new_store_continues_the_folder(tmp_path: Path) -> None:
    first = CheckpointStore(tmp_path, "ppo", keep=2, description={"arguments": 1})
    for step in (1, 2, 3):
        save_step(first, step, metric=float(-step))
    second = CheckpointStore(tmp_path, "ppo", keep=2, description={"arguments": 2})
    assert not save_step(second, 4, metric=-9.0).is_best
    assert state_files(tmp_path, "model") == [f"model-{step}.cleanrl_model" for step in (1, 3, 4)]
    assert load_checkpoint(tmp_path).description == {"arguments": 2}


def test_files_that_are_not_ours_are_left_alone(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "ppo", keep=1)
    save_step(store, 1)
    strangers = ["notes.txt", "model-final.pt", "mymodel-1.cleanrl_model", ".hidden.tmp"]
    leftovers = ["replay-1-0.safetensors", ".values-3.json.99.0a1b2c3d.tmp"]
    for name in strangers + leftovers:
        (tmp_path / "ppo.state" / name).write_text("x")
    (tmp_path / ".ppo.cleanrl_model.99.0a1b2c3d.tmp").write_text("x")
    (tmp_path / ".dqn.cleanrl_model.99.0a1b2c3d.tmp").write_text("x")
    save_step(store, 2)
    kept = set(state_files(tmp_path)) | {path.name for path in (tmp_path / "ppo.state").iterdir()}
    assert set(strangers) <= kept
    assert not kept & set(leftovers)
    assert not (tmp_path / ".ppo.cleanrl_model.99.0a1b2c3d.tmp").exists()
    assert (tmp_path / ".dqn.cleanrl_model.99.0a1b2c3d.tmp").exists()


def test_only_changed_chunks_of_a_replay_buffer_are_written_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cleanrl_worker.kit.checkpoints.state.CHUNK_ROWS", 4)
    store = CheckpointStore(tmp_path, "ppo", keep=1)
    buffer = empty_buffer()
    extend_buffer(buffer, 0, 10)
    save_step(store, 10, buffer)
    assert len(state_files(tmp_path, "replay-10-")) == 3
    extend_buffer(buffer, 10, 13)  # slots 0 to 2
    save_step(store, 13, buffer)
    assert state_files(tmp_path, "replay") == [
        "replay-10-1.safetensors",
        "replay-10-2.safetensors",
        "replay-13-0.safetensors",
    ]
    assert_holds(load_checkpoint(tmp_path), 13, with_buffer=True)
    # A chunk that vanished meanwhile is written again instead of being referred to.
    (tmp_path / "ppo.state" / "replay-10-1.safetensors").unlink()
    save_step(store, 14, buffer)
    load_checkpoint(tmp_path)


def test_an_old_best_generation_keeps_its_policy_but_not_its_replay_buffer(tmp_path: Path) -> None:
    store = CheckpointStore(tmp_path, "ppo", keep=1)
    save_step(store, 10, filled_buffer(10), metric=5.0)
    save_step(store, 20, filled_buffer(20), metric=1.0)
    assert len(state_files(tmp_path, "replay")) == 1
    best = load_checkpoint(tmp_path / "ppo-best.cleanrl_model")
    assert_holds(best, 10)
    with pytest.raises(CheckpointError, match="step 10 has no replay buffer"):
        empty_buffer().load_state_dict(best.part("buffer"))
    assert_holds(load_checkpoint(tmp_path), 20, with_buffer=True)


def test_evaluation_need_not_read_the_replay_buffer(tmp_path: Path) -> None:
    save_step(CheckpointStore(tmp_path, "ppo"), 10, filled_buffer(10))
    (tmp_path / "ppo.state" / "replay-10-0.safetensors").unlink()
    assert_holds(load_checkpoint(tmp_path, with_replay=False), 10)
    with pytest.raises(CheckpointError, match="replay-10-0"):
        load_checkpoint(tmp_path)


def test_a_part_nobody_saved_is_named(tmp_path: Path) -> None:
    save_step(CheckpointStore(tmp_path, "ppo"), 10)
    with pytest.raises(CheckpointError, match="holds no state of 'normalizer'"):
        load_checkpoint(tmp_path).part("normalizer")


def test_without_hard_links_the_weights_are_copied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*args: Any, **kwargs: Any) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    store = CheckpointStore(tmp_path, "ppo")
    for step in (1, 2):
        save_step(store, step, metric=float(step))
    assert_holds(load_checkpoint(tmp_path / "ppo.cleanrl_model"), 2)
    assert_holds(load_checkpoint(tmp_path / "ppo-best.cleanrl_model"), 2)


@pytest.mark.parametrize("name", ["", "a/b", "../x", ".hidden"])
def test_a_name_that_is_no_file_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        CheckpointStore(tmp_path, name)
    assert caught.value.details == {"field": "exp_name"}


@pytest.mark.parametrize("base", ["runs", "outputs/runs"])
def test_the_newest_checkpoint_of_a_run_is_found(base: str, tmp_path: Path) -> None:
    assert find_checkpoint(tmp_path) is None
    for index, name in enumerate(["CartPole-v1__dqn__1__100", "CartPole-v1__dqn__1__200"]):
        folder = tmp_path / base / name
        saved = save_step(CheckpointStore(folder, "dqn"), 10 * index, metric=1.0)
        for path in (saved.path, folder / "dqn.state" / "manifest.json"):
            os.utime(path, (1000 + index, 1000 + index))
    newest = tmp_path / base / "CartPole-v1__dqn__1__200"
    assert find_checkpoint(tmp_path) == newest / "dqn.cleanrl_model"
    assert_holds(load_checkpoint(tmp_path), 10)
    (newest / "dqn.cleanrl_model").unlink()  # as after a crash before the first was published
    assert find_checkpoint(tmp_path) == newest / "dqn.state"
    assert_holds(load_checkpoint(newest / "dqn.state"), 10)
    assert_holds(load_checkpoint(newest / "dqn.cleanrl_model"), 10)


def test_weights_of_cleanrl_itself_are_found_too(tmp_path: Path) -> None:
    folder = tmp_path / "runs" / "x"
    folder.mkdir(parents=True)
    torch.save(weights(1), folder / "ppo.cleanrl_model")
    assert find_checkpoint(tmp_path) == folder / "ppo.cleanrl_model"


def test_the_weight_hash_tells_policies_apart() -> None:
    network = nn.Linear(2, 3)
    state = network.state_dict()
    reference = weight_hash(state)
    assert weight_hash(dict(reversed(state.items()))) == reference
    assert weight_hash({"model_weights": state, "args": {"n_atoms": 3}}) == reference
    assert weight_hash((state,)) == reference
    columns_first = state["weight"].T.contiguous().T
    assert weight_hash({**state, "weight": columns_first}) == reference
    changed = {name: value.clone() for name, value in state.items()}
    changed["bias"][1] = torch.nextafter(changed["bias"][1], torch.tensor(9.0))
    others = [
        changed,
        {name: value.double() for name, value in state.items()},
        {name: value.reshape(-1) for name, value in state.items()},
        {f"other.{name}": value for name, value in state.items()},
        (state, state),
    ]
    assert len({reference, *map(weight_hash, others)}) == len(others) + 1
