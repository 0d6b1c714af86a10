"""What runs of the worker do and leave behind, mode by mode."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from cleanrl_worker.kit.checkpoints.loading import load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import load_payload, weight_hash
from tests.unit.cleanrl_worker.worker_calls import RUN_ID, Worker, tiny

MakeWorker = Callable[[str], Worker]


@pytest.fixture
def make_worker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> MakeWorker:
    monkeypatch.chdir(tmp_path)
    return lambda name: Worker(tmp_path / name, monkeypatch)


def resume_config(model: Path, **changes: object) -> dict[str, object]:
    return {"extras": {"mode": "resume_training", "checkpoint_path": str(model)}, **changes}


def final_hash(worker: Worker) -> str:
    return weight_hash(load_payload(worker.model))


def test_training_leaves_checkpoints_event_files_and_a_manifest(make_worker: MakeWorker) -> None:
    worker = make_worker("run")
    extras = {"notes": "a first try", "fastlane_slot": 3}
    assert worker.run(tiny(extras, seed=5)) == 0
    started = worker.events("run_started")[0]["payload"]
    assert started["algo"] == "ppo" and started["module"] == "cleanrl_worker.algorithms.ppo"
    assert "--num-envs=2" in started["flags"]
    assert worker.folder.name.startswith("CartPole-v1__ppo__5__")
    assert list(worker.folder.glob("events.out.tfevents.*"))
    saved = [event["payload"] for event in worker.events("checkpoint_saved")]
    assert [item["step"] for item in saved] == [128, 256, 384, 512]
    assert [item["is_final"] for item in saved] == [False, False, False, True]
    manifest = worker.manifest
    relative = f"runs/{worker.folder.name}"
    assert manifest["tensorboard"] == {"enabled": True, "relative_path": relative}
    assert manifest["notes"] == "a first try"
    assert manifest["metadata"]["fastlane_slot"] == 3
    assert manifest["metadata"]["run_folder"] == relative
    assert manifest["checkpoints"][-1]["path"] == f"{relative}/ppo.cleanrl_model"
    description = load_checkpoint(worker.model).description
    assert (description["algorithm"], description["seed"]) == ("ppo", 5)
    assert (description["run_id"], description["exactness"]) == (RUN_ID, "exact")
    assert description["arguments"]["num_steps"] == 32
    assert {"device: cpu", "resume: exact"} <= set(worker.notes)
    assert any(note.startswith("vectorization: ") for note in worker.notes)
    assert worker.events()[-1]["payload"]["steps"] == 512


def test_tensorboard_folder_can_be_chosen(make_worker: MakeWorker) -> None:
    worker = make_worker("run")
    assert worker.run(tiny({"tensorboard_dir": "tensorboard", "save_model": False})) == 0
    assert list((worker.directory / "tensorboard").glob("events.out.tfevents.*"))
    assert worker.manifest["tensorboard"]["relative_path"] == "tensorboard"
    assert worker.manifest["checkpoints"] == []


def test_stopped_run_resumes_to_exactly_the_same_weights(make_worker: MakeWorker) -> None:
    whole, first, second = (make_worker(name) for name in ("whole", "first", "second"))
    assert whole.run(tiny()) == 0
    assert first.run(tiny(), environment={"MOSAIC_MAX_STEPS": "200"}) == 0
    assert first.events()[-1]["payload"]["stop_reason"] == "max_steps"
    assert load_checkpoint(first.model).step == 256, "a stopped run saves where it stops"
    assert final_hash(first) != final_hash(whole)
    assert second.run(resume_config(first.model)) == 0
    assert final_hash(second) == final_hash(whole)
    lineage = second.manifest["metadata"]["lineage"]
    assert (lineage["parent_run"], lineage["parent_step"]) == (RUN_ID, 256)
    assert len(lineage["checkpoint_sha256"]) == 64
    assert second.events("run_started")[0]["payload"]["lineage"] == lineage
    assert second.events("checkpoint_loaded")[0]["payload"]["step"] == 256
    assert min(event["step"] for event in second.events("metric")) > 256, "the curve goes on"
    assert load_checkpoint(second.model).description["lineage"] == lineage


def test_resuming_further_says_how_the_learning_rate_goes_on(make_worker: MakeWorker) -> None:
    first, second = make_worker("first"), make_worker("second")
    assert first.run(tiny()) == 0
    assert second.run(resume_config(first.model, total_timesteps=1024)) == 0
    (note,) = [note for note in second.notes if note.startswith("learning rate")]
    assert "goes on at 0.000125 (it was 0)" in note and "step 1,024" in note
    assert load_checkpoint(second.model).step == 1024


def test_resuming_what_does_not_fit_is_refused(make_worker: MakeWorker) -> None:
    first = make_worker("first")
    assert first.run(tiny()) == 0
    cases = {
        "ended": ({}, "total_timesteps", "had reached its end at step 512"),
        "short": ({"total_timesteps": 300}, "total_timesteps", "at step 512 already"),
        "env": ({"env_id": "Acrobot-v1"}, "env_id", "was trained on CartPole-v1"),
        "algo": ({"algo": "dqn"}, "algo", "was trained by ppo, not by dqn"),
    }
    for name, (changes, field, said) in cases.items():
        worker = make_worker(name)
        assert worker.run(resume_config(first.model, **changes)) == 2  # type: ignore[arg-type]
        assert worker.failure["field"] == field
        assert said in worker.failure["error"]
        assert not (worker.directory / "runs").exists()


def test_a_warm_start_begins_with_the_networks_and_nothing_else(make_worker: MakeWorker) -> None:
    first, second = make_worker("first"), make_worker("second")
    assert first.run(tiny()) == 0
    # With this rate no step changes anything: what is saved is what it began with.
    extras = {"warm_start_path": str(first.model), "algo_params": {"learning_rate": 0.0}}
    assert second.run(tiny(extras, seed=7)) == 0
    assert final_hash(second) == final_hash(first)
    assert any(note.startswith("warm start") for note in second.notes)
    assert not second.events("checkpoint_loaded"), "it is a training of its own"
    lineage = second.events("run_started")[0]["payload"]["lineage"]
    assert lineage["kind"] == "warm_start" and lineage["parent_step"] == 512


def test_a_warm_start_with_what_does_not_fit_is_refused(make_worker: MakeWorker) -> None:
    first = make_worker("first")
    assert first.run(tiny()) == 0
    gone = first.model.with_name("gone")
    other = {"algo": "dqn", "env_id": "CartPole-v1", "total_timesteps": 100}
    for name, path, said in (
        ("other", first.model, "was trained by ppo, not by dqn"),
        ("gone", gone, "does not exist"),
    ):
        worker = make_worker(name)
        assert worker.run({**other, "extras": {"warm_start_path": str(path)}}) == 2
        assert worker.failure["field"] == "extras.warm_start_path"
        assert said in worker.failure["error"]


def test_retried_run_goes_on_from_its_own_newest_checkpoint(make_worker: MakeWorker) -> None:
    whole, worker = make_worker("whole"), make_worker("run")
    assert whole.run(tiny()) == 0
    assert worker.run(tiny(), environment={"MOSAIC_MAX_STEPS": "200"}) == 0
    assert worker.run(tiny(), environment={"MOSAIC_ATTEMPT": "2"}) == 0
    assert worker.events("checkpoint_loaded")[0]["payload"]["step"] == 256
    assert final_hash(worker) == final_hash(whole)
    assert len(list(worker.folder.glob("events.out.tfevents.*"))) == 2, "in the same folder"


def test_retried_run_passes_over_a_damaged_checkpoint(make_worker: MakeWorker) -> None:
    whole, worker = make_worker("whole"), make_worker("run")
    assert whole.run(tiny()) == 0
    assert worker.run(tiny(), environment={"MOSAIC_MAX_STEPS": "380"}) == 0
    (newest,) = worker.folder.glob("ppo.state/tensors-384*.safetensors")
    newest.write_bytes(b"\0" * newest.stat().st_size)
    assert worker.run(tiny(), environment={"MOSAIC_ATTEMPT": "2"}) == 0
    assert worker.events("checkpoint_loaded")[0]["payload"]["step"] == 256
    assert final_hash(worker) == final_hash(whole)


def test_retried_run_without_a_checkpoint_starts_at_the_beginning(make_worker: MakeWorker) -> None:
    worker = make_worker("run")
    assert worker.run(tiny(), environment={"MOSAIC_ATTEMPT": "2"}) == 0
    assert worker.events("checkpoint_loaded") == []


def test_diverged_training_fails_by_name_and_keeps_its_checkpoint(make_worker: MakeWorker) -> None:
    worker = make_worker("run")
    first = {"algo_params": {"learning_rate": 1e-3}}
    assert worker.run(tiny(first), environment={"MOSAIC_MAX_STEPS": "100"}) == 0
    before = final_hash(worker)
    other = make_worker("diverging")
    config = resume_config(worker.model)
    config["extras"]["algo_params"] = {"learning_rate": 1e38, "max_grad_norm": 1e38}  # type: ignore[index]
    assert other.run(config) == 1
    assert other.failure["error_type"] == "TrainingDivergedError"
    assert other.failure["code"] == "training_diverged"
    assert "learning_rate" in other.failure["hint"]
    assert final_hash(worker) == before


@pytest.mark.parametrize(
    ("changes", "field", "said", "hint"),
    [
        ({"env_id": "Pendulum-v1"}, "algo", "its actions are continuous", "ppo_continuous_action"),
        ({"env_id": "CartPol-v1"}, "env_id", "CartPol-v1", "CartPole-v1"),
        ({"extras": {"learning_rate": -1}}, "learning_rate", "minimum", ""),
        ({"extras": {"algo_params": {"num_envs": "x"}}}, "num_envs", "'x'", ""),
    ],
)
def test_what_cannot_be_trained_is_refused_before_anything_is_written(
    make_worker: MakeWorker, changes: dict[str, object], field: str, said: str, hint: str
) -> None:
    worker = make_worker("run")
    assert worker.run({**tiny(), **changes}) == 2
    assert worker.failure["field"] == field
    assert said in worker.failure["error"] and hint in worker.failure["hint"]
    assert [event["type"] for event in worker.events()] == ["worker_registered", "run_failed"]
    assert not (worker.directory / "runs").exists()


@pytest.mark.skipif(torch.cuda.is_available(), reason="needs a machine without a GPU")
def test_missing_gpu_is_refused(make_worker: MakeWorker) -> None:
    worker = make_worker("run")
    assert worker.run(tiny({"cuda": True})) == 2
    assert worker.failure["field"] == "cuda"
    assert "no usable GPU" in worker.failure["error"]


def test_evaluation_tells_of_each_batch(make_worker: MakeWorker) -> None:
    trained, worker = make_worker("trained"), make_worker("evaluated")
    assert trained.run(tiny()) == 0
    extras = {
        "mode": "policy_eval",
        "policy_path": str(trained.model),
        "eval_batch_size": 2,
        "eval_episodes": 4,
        "eval_max_episode_steps": 20,
    }
    assert worker.run({"extras": extras, "seed": 3}) == 0
    started = worker.events("run_started")[0]["payload"]
    assert (started["algo"], started["env_id"], started["seed"]) == ("ppo", "CartPole-v1", 3)
    batches = [
        beat["payload"]["evaluation"]
        for beat in worker.events("heartbeat")
        if "evaluation" in beat["payload"]
    ]
    assert [batch["batch_index"] for batch in batches] == [1, 2]
    assert worker.manifest["metadata"]["evaluation"] == batches[-1]
    assert worker.manifest["tensorboard"] == {
        "enabled": True,
        "relative_path": "tensorboard_eval",
    }
    assert list((worker.directory / "tensorboard_eval").iterdir())
    summary = json.loads((worker.directory / "eval_summary.json").read_text())
    assert summary["latest"]["avg_return"] == batches[-1]["avg_return"]


def test_moved_checkpoint_still_tells_what_it_was_trained_on(
    make_worker: MakeWorker, tmp_path: Path
) -> None:
    trained, worker = make_worker("trained"), make_worker("evaluated")
    assert trained.run(tiny()) == 0
    moved = tmp_path / "elsewhere"
    shutil.copytree(trained.folder, moved)
    extras = {
        "mode": "policy_eval",
        "policy_path": str(moved / "ppo.cleanrl_model"),
        "eval_batch_size": 1,
    }
    assert worker.run({"extras": extras}) == 0
    assert worker.manifest["metadata"]["env_id"] == "CartPole-v1"
