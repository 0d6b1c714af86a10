from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.events import EventType
from mosaic.errors import CorruptStoreError
from mosaic.telemetry import queries
from mosaic.telemetry.ingest import JournalIngest
from tests import journal_lines as lines


def stored(directory: Path, *written: bytes) -> Path:
    lines.append(directory / "events.jsonl", written)
    path = directory / "telemetry.sqlite"
    ingest = JournalIngest(lines.RUN_ID, directory / "events.jsonl", path)
    while ingest.step().has_more:
        pass
    ingest.close()
    return path


def test_a_store_that_does_not_exist_answers_with_nothing(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.sqlite"
    for _ in range(2):
        assert queries.recent_metrics(path, 10) == []
        assert queries.steps(path, 0) == []
        assert queries.lifecycle(path) == []
        assert queries.quarantine_summary(path) == queries.QuarantineSummary()
        path.touch()  # the second round: its writer has only just created it


def test_a_store_that_is_no_database_is_corrupt(tmp_path: Path) -> None:
    path = tmp_path / "telemetry.sqlite"
    path.write_bytes(b"no database at all" * 100)
    with pytest.raises(CorruptStoreError):
        queries.recent_metrics(path, 10)


def test_a_step_comes_back_as_it_was_written(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        lines.registered(0),
        lines.step(
            1,
            action={"move": [1, None]},
            observation=[[1, 2], "NaN"],
            episode_seed=2**100,
            render_hint="fast",
            info={"text": "grün"},
            agent_id="other",
        ),
        lines.step(2, action=None),
        lines.step(3, observation="X").replace(b'"X"', b"1e999"),
    )
    first, second, third = queries.steps(path, 0)
    assert (first.run_id, first.agent_id, first.worker_id) == (lines.RUN_ID, "other", "worker-1")
    assert (first.seq, first.episode_index, first.step_index) == (1, 0, 1)
    assert (first.action, first.observation) == ({"move": [1, None]}, [[1, 2], "NaN"])
    assert (first.episode_seed, first.render_hint) == (2**100, "fast")
    assert (first.info, first.terminated, first.truncated) == ({"text": "grün"}, False, False)
    assert (second.agent_id, second.action, second.info) == ("agent-1", None, None)
    assert second.episode_seed is None
    assert third.observation == "1e999"


def test_steps_of_an_episode_are_found_among_interleaved_ones_and_by_attempt(
    tmp_path: Path,
) -> None:
    path = stored(
        tmp_path,
        lines.registered(0),
        *(lines.step(seq, episode_index=seq % 4, step_index=seq // 4) for seq in range(1, 41)),
        lines.registered(41, attempt=2, agent_id="agent-2"),
        *(lines.step(seq, episode_index=seq % 4, step_index=seq // 4) for seq in range(42, 62)),
    )
    assert [step.seq for step in queries.steps(path, 3)] == [43, 47, 51, 55, 59]
    assert {step.agent_id for step in queries.steps(path, 3)} == {"agent-2"}
    assert [step.seq for step in queries.steps(path, 3, attempt=1)] == list(range(3, 41, 4))
    assert {step.agent_id for step in queries.steps(path, 3, attempt=1)} == {"agent-1"}
    assert queries.steps(path, 3, attempt=9) == []
    assert queries.steps(path, 99) == []


def test_lifecycle_can_be_asked_for_by_type(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        lines.registered(0),
        lines.lifecycle("heartbeat", 1, steps=1),
        lines.lifecycle("run_completed", 2, stop_reason=""),
    )
    assert [event.type for event in queries.lifecycle(path)] == [
        EventType.WORKER_REGISTERED,
        EventType.HEARTBEAT,
        EventType.RUN_COMPLETED,
    ]
    (heartbeat,) = queries.lifecycle(path, {EventType.HEARTBEAT})
    assert (heartbeat.payload, heartbeat.seq) == ({"steps": 1}, 1)


def test_recent_metrics_are_the_newest_of_all_or_of_some_names(tmp_path: Path) -> None:
    path = stored(
        tmp_path,
        *(lines.metric(seq, ["a", "b", "c"][seq % 3], float(seq), at=seq) for seq in range(30)),
        lines.metric(30, "rare", 1.0),
        *(lines.metric(seq, "a", float(seq)) for seq in range(31, 100)),
    )
    assert [point.seq for point in queries.recent_metrics(path, 3)] == [97, 98, 99]
    assert [point.seq for point in queries.recent_metrics(path, 3, ["rare", "b"])] == [25, 28, 30]
    assert queries.recent_metrics(path, 3, ["no such name"]) == []
    assert queries.recent_metrics(path, 0) == []
    assert len(queries.recent_metrics(path, 1000)) == 100


def test_readers_do_not_disturb_the_writer_nor_it_them(tmp_path: Path) -> None:
    journal, path = tmp_path / "events.jsonl", tmp_path / "telemetry.sqlite"
    ingest = JournalIngest(lines.RUN_ID, journal, path)
    for seq in range(50):
        lines.append(journal, [lines.metric(seq)])
        ingest.step()
        assert len(queries.recent_metrics(path, 100)) == seq + 1
    ingest.close()


def test_reading_writes_nothing(tmp_path: Path) -> None:
    path = stored(tmp_path, lines.metric(0))
    before = path.read_bytes()
    queries.recent_metrics(path, 1)
    assert path.read_bytes() == before
