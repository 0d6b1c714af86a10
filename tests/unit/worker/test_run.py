"""What a Run writes, and what it tells the training loop."""

from __future__ import annotations

import dataclasses
import math
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.events import EventType
from mosaic.contracts.manifest import AnalyticsManifest, TensorBoardArtifact
from mosaic.files import read_json
from mosaic.testing.event_check import assert_valid_journal, parse_journal
from mosaic.worker.analytics import write_manifest
from mosaic.worker.assignment import Assignment
from mosaic.worker.control import Control
from mosaic.worker.journal import Journal
from mosaic.worker.run import Run
from tests.waiting import PATIENCE_S, wait_until

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"


@dataclass
class SampleConfig:
    env_id: str = "CartPole-v1"
    seed: int = 3
    total_timesteps: int | None = 100
    episodes: int | None = None


MakeRun = Callable[..., Run[SampleConfig]]


@pytest.fixture
def make_run(tmp_path: Path) -> Iterator[MakeRun]:
    opened: list[Journal] = []

    def make(**changes: Any) -> Run[SampleConfig]:
        values = {"run_id": RUN_ID, "agent_id": "a", "worker_id": "w", "directory": tmp_path}
        assignment = Assignment(**{**values, **changes})
        journal = Journal(tmp_path / "events.jsonl")
        opened.append(journal)
        return Run(assignment, WorkerCapabilities("sample"), journal, Control())

    yield make
    for journal in opened:
        journal.close(timeout_s=1)


@pytest.fixture
def run(make_run: MakeRun) -> Run[SampleConfig]:
    return make_run()


def events(run: Run[SampleConfig]) -> list[dict[str, Any]]:
    run._journal.flush()
    assert run._journal.path is not None
    found = parse_journal(run._journal.path.read_bytes())
    assert_valid_journal(found)
    return found


def step(run: Run[SampleConfig], **changes: Any) -> None:
    values: dict[str, Any] = {
        "episode_index": 0,
        "step_index": 0,
        "action": 1,
        "observation": np.array([0.5, -1.5], np.float32),
        "reward": 1.0,
        "terminated": False,
        "truncated": False,
    }
    run.step(**{**values, **changes})


def test_metric_has_name_value_and_step(run: Run[SampleConfig]) -> None:
    run.metric("loss", 0.25, 10)
    (event,) = events(run)
    assert {key: event[key] for key in ("type", "name", "value", "step")} == {
        "type": "metric",
        "name": "loss",
        "value": 0.25,
        "step": 10,
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (3, 3.0),
        (True, 1.0),
        (math.nan, "NaN"),
        (np.float64("-inf"), "-Infinity"),
    ],
)
def test_metric_takes_any_number(run: Run[SampleConfig], value: Any, expected: Any) -> None:
    run.metric("x", value, np.int64(5))  # type: ignore[arg-type]
    (event,) = events(run)
    assert event["value"] == expected and event["step"] == 5


def test_metric_that_is_no_number_fails_where_it_is_called(run: Run[SampleConfig]) -> None:
    with pytest.raises(ValueError, match="could not convert"):
        run.metric("x", "many", 0)  # type: ignore[arg-type]
    assert events(run) == []


def test_hostile_metric_name_is_quoted_and_cut(run: Run[SampleConfig]) -> None:
    run.metric('a"\n\ud800' + "x" * 500, 1.0, 0)
    (event,) = events(run)
    assert event["name"].startswith('a"\n?x') and len(event["name"]) == 256


def test_metrics_writes_each(run: Run[SampleConfig]) -> None:
    run.metrics({"a": 1, "b": 2}, step=7)
    assert [(event["name"], event["step"]) for event in events(run)] == [("a", 7), ("b", 7)]


def test_step_holds_what_the_buffers_held_at_the_call(run: Run[SampleConfig]) -> None:
    buffer = np.array([1.0, 2.0], np.float32)
    action = np.array([0.5])
    info = {"lives": [3]}
    step(run, observation=buffer, action=action, info=info, episode_seed=9, render_hint={"x": 1})
    buffer[:] = action[:] = 0
    info["lives"].append(4)
    (event,) = events(run)
    assert event["observation"] == [1, 2]
    assert event["action"] == [0.5]
    assert event["info"] == {"lives": [3]}
    assert event["render_hint"] == {"x": 1}
    assert event["episode_seed"] == 9


@pytest.mark.parametrize(
    ("observation", "expected"),
    [
        (np.array([math.nan, 1], np.float32), ["NaN", 1]),
        ({"image": np.zeros((2, 2), np.uint8)}, {"image": [[0, 0], [0, 0]]}),
        ((14, 10, 0), [14, 10, 0]),
        (np.int64(3), 3),
        ("text", "text"),
        (None, None),
    ],
    ids=str,
)
def test_step_takes_any_observation(
    run: Run[SampleConfig], observation: Any, expected: Any
) -> None:
    step(run, observation=observation, action=np.int64(1), reward=np.float64("inf"))
    (event,) = events(run)
    assert event["observation"] == expected
    assert event["reward"] == "Infinity" and event["action"] == 1


def test_image_observations_do_not_break_the_line_limit(run: Run[SampleConfig]) -> None:
    step(run, observation=np.zeros((480, 640, 3), np.uint8), info={"text": "x" * 2_000_000})
    (event,) = events(run)
    assert event["observation"]["shape"] == [480, 640, 3]
    assert event["info"]["omitted_bytes"] > 2_000_000


def test_numpy_booleans_become_json_booleans(run: Run[SampleConfig]) -> None:
    step(run, terminated=np.bool_(True), truncated=np.bool_(False))
    (event,) = events(run)
    assert event["terminated"] is True and event["truncated"] is False


def test_episode_is_counted_and_written(run: Run[SampleConfig]) -> None:
    run.episode(
        episode_index=2,
        total_reward=np.float32(7.5),  # type: ignore[arg-type]
        steps=3,
        terminated=True,
        truncated=False,
        episode_seed=5,
        metadata={"success": np.bool_(True)},
    )
    (event,) = events(run)
    assert (event["total_reward"], event["metadata"]) == (7.5, {"success": True})
    assert run.episodes == 1


def test_registration_names_the_run_and_leaves_the_schema_out(run: Run[SampleConfig]) -> None:
    run.register()
    (event,) = events(run)
    assert (event["run_id"], event["agent_id"], event["worker_id"]) == (RUN_ID, "a", "w")
    assert event["schema_version"] == 1 and event["protocol"] == "MOSAIC/1"
    assert event["capabilities"]["worker_type"] == "sample"
    assert "config_schema" not in event["capabilities"]


def test_start_announces_where_the_run_ends(run: Run[SampleConfig]) -> None:
    run.start(SampleConfig(), {"api_key": "***"})
    run.finish(EventType.RUN_COMPLETED, {})
    first, last = events(run)
    assert first["payload"]["total_steps"] == 100
    assert first["payload"]["env_id"] == "CartPole-v1"
    assert first["payload"]["config"] == {"api_key": "***"}
    assert last["type"] == "run_completed" and last["payload"]["steps"] == 0


def test_nothing_follows_the_last_event(run: Run[SampleConfig]) -> None:
    run.finish(EventType.RUN_COMPLETED, {})
    run.metric("late", 1.0, 1)
    step(run)
    assert [event["type"] for event in events(run)] == ["run_completed"]


def test_first_progress_is_announced_at_once(run: Run[SampleConfig]) -> None:
    run.progress(total_steps=50, total_episodes=2)
    run.progress(steps=10)
    (event,) = events(run)
    assert event["type"] == "heartbeat"
    assert event["payload"]["total_steps"] == 50 and event["payload"]["total_episodes"] == 2
    assert event["payload"]["rss_mb"] > 1
    assert run.steps == 10


def test_worker_can_add_to_a_heartbeat(run: Run[SampleConfig]) -> None:
    run.progress(steps=5)
    run.note("device: cpu")
    run.heartbeat(evaluation={"avg_return": 1.5})
    _, note, batch = (event["payload"] for event in events(run))
    assert (note["note"], note["steps"]) == ("device: cpu", 5)
    assert (batch["evaluation"], batch["steps"]) == ({"avg_return": 1.5}, 5)


def test_heartbeats_come_at_their_interval(make_run: MakeRun) -> None:
    run = make_run(heartbeat_s=0.02)
    run.start(SampleConfig(), {})
    wait_until(lambda: sum(event["type"] == "heartbeat" for event in events(run)) >= 3)
    run.finish(EventType.RUN_COMPLETED, {})
    assert events(run)[-1]["type"] == "run_completed"


@pytest.mark.parametrize("is_stepping", [True, False])
def test_step_budget_stops_the_run(make_run: MakeRun, is_stepping: bool) -> None:
    run = make_run(max_steps=5)
    for count in range(1, 6):
        assert not run.should_stop()
        if is_stepping:
            step(run)
        else:
            run.progress(steps=count)
    assert run.should_stop()
    assert run.stop_reason == "max_steps"
    assert not run.ended_by_request


def test_stop_request_is_seen_and_stays(run: Run[SampleConfig]) -> None:
    assert not run.should_stop()
    run.control.handle({"command": "stop", "reason": "user_cancel"})
    assert run.should_stop() and run.should_stop()
    assert run.ended_by_request


def test_stop_the_training_never_saw_does_not_cancel_it(run: Run[SampleConfig]) -> None:
    run.control.request_stop("user_cancel")
    assert not run.ended_by_request


def test_pause_is_acknowledged_and_blocks_until_resumed(run: Run[SampleConfig]) -> None:
    run.control.pause()
    answers: list[bool] = []
    trainer = threading.Thread(target=lambda: answers.append(run.should_stop()))
    trainer.start()
    wait_until(lambda: [event["type"] for event in events(run)] == ["run_paused"])
    assert trainer.is_alive()
    run.control.unpause()
    trainer.join(timeout=PATIENCE_S)
    assert answers == [False]
    assert [event["type"] for event in events(run)] == ["run_paused", "run_resumed"]
    assert not run.should_stop()


def test_checkpoints_enter_events_and_manifest(run: Run[SampleConfig], tmp_path: Path) -> None:
    inside = tmp_path / "outputs" / "model.bin"
    run.checkpoint_saved(inside, 10, sha256="ab", metric=1.5, is_best=True)
    run.checkpoint_saved("/elsewhere/model.bin", 20, metric=math.nan)
    run.checkpoint_saved(inside, 30, is_final=True)
    run.checkpoint_loaded(inside, 30)
    assert [event["payload"]["path"] for event in events(run)] == [
        "outputs/model.bin",
        "/elsewhere/model.bin",
        "outputs/model.bin",
        "outputs/model.bin",
    ]
    manifest = AnalyticsManifest.from_dict(read_json(tmp_path / "analytics.json"))
    assert [(entry.path, entry.step, entry.metric) for entry in manifest.checkpoints] == [
        ("/elsewhere/model.bin", 20, None),
        ("outputs/model.bin", 30, None),
    ]


def test_manifest_keeps_what_is_not_changed(run: Run[SampleConfig], tmp_path: Path) -> None:
    run.checkpoint_saved(tmp_path / "model.bin", 10)
    write_manifest(run, tensorboard=TensorBoardArtifact(enabled=True), metadata={"a": 1})
    manifest = write_manifest(run, notes="good", metadata={"b": math.nan})
    assert manifest is not None
    assert manifest.tensorboard.enabled and manifest.notes == "good"
    assert manifest.metadata["a"] == 1
    assert len(manifest.checkpoints) == 1
    stored = read_json(tmp_path / "analytics.json")
    assert stored is not None and stored["metadata"] == {"a": 1, "b": "NaN"}


@pytest.mark.parametrize("content", ["{", "[]", '{"checkpoints": 5}', '{"unknown": 1}'])
def test_damaged_manifest_is_replaced(run: Run[SampleConfig], tmp_path: Path, content: str) -> None:
    (tmp_path / "analytics.json").write_text(content)
    write_manifest(run, notes="new")
    stored = read_json(tmp_path / "analytics.json")
    assert stored is not None and stored["notes"] == "new"


def test_run_without_a_directory_writes_no_manifest(make_run: MakeRun, tmp_path: Path) -> None:
    run = make_run(directory=None)
    run.checkpoint_saved(tmp_path / "model.bin", 1)
    assert write_manifest(run) is None
    assert not (tmp_path / "analytics.json").exists()


def test_full_disk_under_the_manifest_does_not_end_the_training(
    run: Run[SampleConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("mosaic.worker.analytics.atomic_write_json", refuse)
    run.checkpoint_saved("model.bin", 1)
    assert events(run)[0]["type"] == "checkpoint_saved"


def test_assignment_is_frozen(run: Run[SampleConfig]) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.assignment.run_id = "x"  # type: ignore[misc]
