from __future__ import annotations

import dataclasses
import math
import os
import random
import sqlite3
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mosaic.contracts.events import MAX_LINE_BYTES, EventType
from mosaic.errors import JournalOffsetError, StoreError
from mosaic.telemetry import queries
from mosaic.telemetry.ingest import IngestReport, JournalIngest
from mosaic.telemetry.journal.files import append_chunk
from mosaic.telemetry.store.ingest_state import IngestState
from mosaic.telemetry.store.rows import QUARANTINE_SAMPLES
from mosaic.telemetry.store.schema import COLUMNS, TABLES
from mosaic.telemetry.store.store import TelemetryStore
from tests import journal_lines as lines
from tests.strange_lines import strange_lines


class Run:
    """A run's journal, its store and whoever moves the one into the other."""

    def __init__(self, directory: Path) -> None:
        self.journal = directory / "events.jsonl"
        self.store = directory / "telemetry.sqlite"
        self.ingest = JournalIngest(lines.RUN_ID, self.journal, self.store)

    def write(self, *written: bytes) -> None:
        lines.append(self.journal, written)

    def ingest_all(self, max_bytes: int = 1 << 20) -> IngestReport:
        report = self.ingest.step(max_bytes)
        while report.has_more:
            report = self.ingest.step(max_bytes)
        return report

    def restart(self) -> None:
        self.ingest.close()
        self.ingest = JournalIngest(lines.RUN_ID, self.journal, self.store)

    def table(self, name: str) -> list[tuple[Any, ...]]:
        connection = sqlite3.connect(self.store)
        try:
            return connection.execute(f"SELECT * FROM {name} ORDER BY 1, 2").fetchall()
        finally:
            connection.close()

    def everything(self) -> dict[str, list[tuple[Any, ...]]]:
        return {name: self.table(name) for name in (*set(TABLES.values()), "ingest_state")}


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    run = Run(tmp_path)
    yield run
    run.ingest.close()


def test_schema_and_state_agree_on_columns(run: Run) -> None:
    TelemetryStore(run.store, lines.RUN_ID).close()
    connection = sqlite3.connect(run.store)
    for table, columns in COLUMNS.items():
        stored = [row[1] for row in connection.execute(f"PRAGMA table_info({TABLES[table]})")]
        # A single value needs none of the columns of a summary.
        assert tuple(stored[: len(columns)]) == columns
        assert len(stored) == len(columns) or table == "metrics"
    stored = [row[1] for row in connection.execute("PRAGMA table_info(ingest_state)")]
    assert stored == [field.name for field in dataclasses.fields(IngestState)]
    connection.close()


def test_a_run_that_has_not_written_yet_reports_nothing(run: Run) -> None:
    report = run.ingest.step()
    assert (report.bytes_read, report.events, report.has_more) == (0, 0, False)
    assert report.registered is None


def test_every_kind_of_event_is_reported_and_stored(run: Run) -> None:
    run.write(
        lines.registered(0),
        lines.lifecycle("run_started", 1, env_id="CartPole-v1", total_steps=100, total_episodes=7),
        lines.step(2),
        lines.step(3),
        lines.episode(4, 12.5),
        lines.metric(5, "loss", 0.25, at=40),
        lines.lifecycle("heartbeat", 6, steps=30),
        lines.lifecycle("heartbeat", 7, steps=31),
        lines.lifecycle("checkpoint_saved", 8, path="a.ckpt", step=2),
        lines.lifecycle("run_paused", 9),
        lines.lifecycle("run_resumed", 10),
        lines.lifecycle("run_paused", 11),
        lines.lifecycle("run_completed", 12, stop_reason="max_steps"),
    )
    report = run.ingest.step()
    assert (report.events, report.quarantined, report.has_samples) == (13, 0, True)
    assert report.bytes_read == report.offset == run.journal.stat().st_size
    assert (report.attempt, report.agent_id, report.worker_id) == (1, "agent-1", "worker-1")
    assert report.registered is not None
    assert report.registered["capabilities"] == {"worker_type": "test"}
    assert report.registered["pid"] == 42
    assert report.env_id == "CartPole-v1"
    assert report.heartbeat == {"steps": 31}
    assert report.heartbeat_at == pytest.approx(1_767_225_600.007)
    assert report.checkpoint == {"path": "a.ckpt", "step": 2}
    assert report.is_paused is True
    assert report.completed == {"stop_reason": "max_steps"}
    assert (report.failed, report.cancelled) == (None, None)
    progress = report.progress
    assert (progress.steps, progress.episodes, progress.last_return) == (40, 1, 12.5)
    assert (progress.total_steps, progress.total_episodes) == (100, 7)
    counts = {name: len(rows) for name, rows in run.everything().items()}
    assert (counts["steps"], counts["episodes"], counts["metrics"]) == (2, 1, 1)
    assert (counts["lifecycle"], counts["registrations"], counts["quarantine"]) == (9, 1, 0)
    state = IngestState(*run.table("ingest_state")[0])
    assert (state.last_seq, state.missing, state.repeated) == (12, 0, 0)


def test_the_store_is_readable_by_its_owner_only(run: Run) -> None:
    run.write(lines.step(0))
    run.ingest.step()
    for path in run.store.parent.glob("telemetry.sqlite*"):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_reports_tell_news_only_and_recall_tells_the_rest(run: Run) -> None:
    run.write(
        lines.registered(0),
        lines.step(1),
        lines.lifecycle("run_failed", 2, message="no"),
        lines.lifecycle("run_paused", 3),
    )
    run.ingest.step()
    run.restart()
    report = run.ingest.step()
    assert (report.bytes_read, report.notices, report.has_samples) == (0, (), False)
    recalled = run.ingest.recall(1)
    assert recalled.registered is not None
    assert (recalled.has_samples, recalled.is_paused) == (True, True)
    assert recalled.failed == {"message": "no"}
    assert run.ingest.recall(2).notices == ()


def test_samples_of_a_worker_that_never_registered_are_recalled(run: Run) -> None:
    run.write(lines.step(0))
    run.ingest.step()
    run.restart()
    assert run.ingest.recall(1).has_samples
    assert not run.ingest.recall(2).has_samples


def test_a_restart_restores_sums_without_counting_again(run: Run) -> None:
    run.write(
        lines.registered(0),
        lines.lifecycle("run_started", 1, env_id="E", total_steps=1000),
        *(lines.step(seq) for seq in range(2, 500)),
        *(lines.episode(seq, float(seq)) for seq in range(500, 700)),
    )
    before = run.ingest_all(5000)
    run.restart()
    after = run.ingest.step()
    assert after.progress == before.progress
    assert after.progress.mean_return == pytest.approx(sum(range(600, 700)) / 100)
    assert after.env_id == "E"
    run.write(lines.step(700), lines.episode(701, 5.0))
    final = run.ingest.step().progress
    assert (final.steps, final.episodes, final.last_return) == (499, 201, 5.0)


@pytest.mark.parametrize("max_bytes", [1, 300, 5000, 1 << 20])
def test_rows_do_not_depend_on_how_the_journal_is_cut(tmp_path: Path, max_bytes: int) -> None:
    written = [
        lines.registered(0),
        *(lines.step(seq, episode_index=seq % 3) for seq in range(1, 150)),
        lines.registered(150, attempt=2, agent_id="agent-2"),
        *(lines.step(seq, episode_index=seq % 3) for seq in range(151, 300)),
        lines.episode(300),
        lines.metric(301),
    ]
    results: list[dict[str, list[tuple[Any, ...]]]] = []
    for size in (1 << 20, max_bytes):
        directory = tmp_path / str(len(results))
        directory.mkdir()
        run = Run(directory)
        run.write(*written)
        run.ingest_all(size)
        run.ingest.close()
        results.append({k: v for k, v in run.everything().items() if k != "ingest_state"})
    assert results[0] == results[1]


def test_a_torn_line_waits_and_is_quarantined_when_it_never_ends(run: Run) -> None:
    torn = lines.step(1)[:50]
    run.write(lines.registered(0), torn)
    assert run.ingest.step().events == 1
    idle = run.ingest.step()
    assert (idle.bytes_read, idle.has_more, idle.offset) == (0, False, len(lines.registered(0)))
    run.write(b"\n", lines.registered(2, attempt=2), lines.step(3))
    report = run.ingest.step()
    assert (report.events, report.quarantined, report.attempt) == (2, 1, 2)
    summary = queries.quarantine_summary(run.store)
    assert summary.by_reason == {"not_json": 1}
    assert summary.samples[0].sample == torn
    assert summary.samples[0].cursor == len(lines.registered(0))


def test_a_new_attempt_counts_from_its_registration_and_hides_old_news(run: Run) -> None:
    run.write(
        lines.registered(0),
        lines.lifecycle("run_started", 1, total_steps=50),
        *(lines.step(seq) for seq in range(2, 40)),
        lines.episode(40, 3.0),
        lines.lifecycle("heartbeat", 41, steps=900),
        lines.lifecycle("run_failed", 42, message="first"),
        lines.registered(0, attempt=2, agent_id="agent-2"),
        lines.step(1),
    )
    report = run.ingest.step()
    assert (report.attempt, report.agent_id, report.failed) == (2, "agent-2", None)
    assert report.heartbeat is None
    assert report.progress.steps == 1
    assert report.progress.total_steps is None
    assert report.progress.last_return == 3.0  # until the new attempt has finished an episode
    state = IngestState(*run.table("ingest_state")[0])
    assert (state.steps, state.missing, state.repeated) == (39, 0, 0)


def test_a_registration_without_attempt_begins_the_next_one(run: Run) -> None:
    run.write(lines.registered(0, attempt=None), lines.step(1))
    assert run.ingest.step().attempt == 1
    run.write(lines.registered(0, attempt=None))
    assert run.ingest.step().attempt == 2


def test_registering_again_in_the_same_attempt_keeps_its_sums(run: Run) -> None:
    run.write(lines.registered(0), lines.step(1), lines.registered(2), lines.step(3))
    assert run.ingest.step().progress.steps == 2


def test_gaps_and_repetitions_of_the_sequence_are_counted(run: Run) -> None:
    run.write(lines.registered(0), lines.step(1), lines.step(5), lines.metric(6), lines.metric(6))
    run.ingest.step()
    state = IngestState(*run.table("ingest_state")[0])
    assert (state.missing, state.repeated, state.events) == (3, 1, 5)


def test_lines_too_long_are_counted_once_and_cost_no_memory(run: Run) -> None:
    run.write(lines.registered(0), b'{"x":"' + b"y" * (3 * MAX_LINE_BYTES))
    assert run.ingest_all().quarantined_total == 1
    run.restart()
    run.write(b'"}\n', lines.step(1), b"z" * (MAX_LINE_BYTES + 1) + b"\n", lines.step(2))
    report = run.ingest_all()
    assert report.quarantined_total == 2
    assert report.progress.steps == 2
    assert queries.quarantine_summary(run.store).by_reason == {"too_long": 2}


def test_bad_lines_are_counted_and_the_first_are_kept(run: Run) -> None:
    run.write(*(b"bad %d\n" % number for number in range(QUARANTINE_SAMPLES + 50)))
    run.write(lines.step(0, run_id=lines.OTHER_RUN_ID), lines.step(1))
    report = run.ingest.step(2000)
    while report.has_more:
        report = run.ingest.step(2000)
    assert report.quarantined_total == QUARANTINE_SAMPLES + 51
    summary = queries.quarantine_summary(run.store)
    assert (summary.lines, len(summary.samples)) == (QUARANTINE_SAMPLES + 51, QUARANTINE_SAMPLES)
    assert summary.by_reason == {"not_json": QUARANTINE_SAMPLES + 50, "wrong_run": 1}
    assert [bad.sample for bad in summary.samples[:2]] == [b"bad 0", b"bad 1"]


def test_numbers_that_are_not_finite_survive(run: Run) -> None:
    run.write(
        lines.step(0, reward="NaN"),
        lines.step(1, reward="Infinity"),
        lines.metric(2, value="-Infinity"),
        lines.episode(3, "NaN"),
    )
    progress = run.ingest.step().progress
    assert (progress.last_return, progress.mean_return) == (None, None)
    stored = queries.steps(run.store, 0)
    assert math.isnan(stored[0].reward)
    assert stored[1].reward == math.inf
    assert queries.recent_metrics(run.store, 1, ["loss"])[0].value == -math.inf
    assert [row[6] for row in run.table("episodes")] == [None]


@settings(
    max_examples=100,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(st.lists(strange_lines | st.sampled_from([lines.step(1), b"\n"]), max_size=30))
def test_any_lines_are_ingested_and_every_one_is_accounted_for(
    tmp_path: Path, pieces: list[bytes]
) -> None:
    directory = tmp_path / os.urandom(8).hex()
    directory.mkdir()
    run = Run(directory)
    run.write(*(piece + b"\n" for piece in pieces), b"torn")
    content = run.journal.read_bytes()
    report = run.ingest_all()
    whole = content[: content.rfind(b"\n") + 1].split(b"\n")[:-1]
    blank = sum(1 for line in whole if not line or line.isspace())
    state = IngestState(*run.table("ingest_state")[0])
    queries.lifecycle(run.store)
    queries.recent_metrics(run.store, 100)
    for row in run.table("episode_spans"):
        queries.steps(run.store, row[0], attempt=row[1])
    run.ingest.close()
    assert report.offset == content.rfind(b"\n") + 1
    assert state.events + state.quarantined + blank == len(whole)


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: b"this is no database" * 100,
        lambda content: content[: len(content) // 2],
        lambda content: content[:100] + os.urandom(4000) + content[4100:],
        lambda content: content[:4096] + bytes(len(content) - 4096),
    ],
)
def test_a_damaged_store_is_set_aside_and_made_again(run: Run, damage: Any) -> None:
    run.write(lines.registered(0), *(lines.step(seq) for seq in range(1, 2000)))
    run.ingest_all()
    expected = run.everything()
    run.ingest.close()
    damaged = damage(run.store.read_bytes())
    run.store.write_bytes(damaged)
    run.restart()
    report = run.ingest_all()
    run.write(lines.step(2000))
    report = run.ingest_all()
    assert report.progress.steps == 2000
    kept = run.store.with_name("telemetry.corrupt-1.sqlite")
    assert kept.exists()
    connection = sqlite3.connect(run.store)
    assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    connection.close()
    assert run.table("steps")[:-1] == expected["steps"]


def test_an_empty_store_file_is_filled(run: Run) -> None:
    run.store.touch()
    run.write(lines.step(0))
    assert run.ingest.step().events == 1
    assert not run.store.with_name("telemetry.corrupt-1.sqlite").exists()


def test_a_store_of_another_run_or_of_a_newer_version_is_set_aside(run: Run) -> None:
    TelemetryStore(run.store, lines.OTHER_RUN_ID).close()
    run.write(lines.step(0))
    assert run.ingest.step().events == 1
    run.ingest.close()
    connection = sqlite3.connect(run.store)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    run.restart()
    assert run.ingest.step().events == 1
    names = sorted(path.name for path in run.store.parent.glob("telemetry.corrupt-*.sqlite"))
    assert names == ["telemetry.corrupt-1.sqlite", "telemetry.corrupt-2.sqlite"]


def test_a_journal_cut_by_a_power_failure_is_read_again_from_the_start(run: Run) -> None:
    run.write(*(lines.step(seq) for seq in range(100)))
    run.ingest_all()
    run.journal.write_bytes(b"".join(lines.step(seq) for seq in range(3)))
    run.write(lines.step(200))
    run.ingest_all()
    assert [row[1] for row in run.table("steps")] == [0, 1, 2, 200]


def test_a_missing_journal_does_not_touch_the_store(run: Run) -> None:
    run.write(*(lines.step(seq) for seq in range(10)))
    run.ingest_all()
    run.journal.unlink()
    run.restart()
    assert run.ingest.step().progress.steps == 10


def test_a_second_writer_is_noticed_and_nothing_is_stored_twice(run: Run) -> None:
    run.write(lines.step(0))
    run.ingest.step()
    other = JournalIngest(lines.RUN_ID, run.journal, run.store)
    run.write(lines.step(1))
    assert other.step().events == 1
    run.write(lines.step(2))
    with pytest.raises(StoreError, match="somebody else"):
        run.ingest.step()
    assert run.ingest.step().events == 1
    other.close()
    assert [row[1] for row in run.table("steps")] == [0, 1, 2]


def test_a_store_that_cannot_be_opened_is_a_store_error_until_it_can(run: Run) -> None:
    run.write(lines.step(0))
    run.store.mkdir()
    with pytest.raises(StoreError):
        run.ingest.step()
    run.store.rmdir()
    assert run.ingest.step().events == 1


def test_nothing_stays_open_over_many_cycles(run: Run) -> None:
    run.write(lines.registered(0), lines.step(1))
    before: set[str] = set()
    for cycle in range(500):
        run.ingest.step()
        queries.recent_metrics(run.store, 5)
        queries.steps(run.store, 0)
        run.restart()
        if cycle == 0:
            before = set(os.listdir("/proc/self/fd"))
    assert set(os.listdir("/proc/self/fd")) == before


def test_published_chunks_in_any_order_give_the_rows_of_the_journal(tmp_path: Path) -> None:
    written = [lines.registered(0), *(lines.step(seq) for seq in range(1, 120)), b"bad\n"]
    runs = []
    for name in ("direct", "published"):
        (tmp_path / name).mkdir()
        runs.append(Run(tmp_path / name))
    direct, published = runs
    direct.write(*written)
    direct.ingest_all()
    offsets = [sum(map(len, written[:index])) for index in range(len(written))]
    chunks = list(zip(offsets, written, strict=True))
    chosen = random.Random(5)
    while published.ingest.step().offset < offsets[-1] + len(written[-1]):
        chosen.shuffle(chunks)
        for offset, chunk in chunks + chunks[:10]:
            try:
                append_chunk(published.journal, offset, chunk)
            except JournalOffsetError:
                continue
    for run in runs:
        run.ingest.close()
    assert published.journal.read_bytes() == direct.journal.read_bytes()
    assert published.table("steps") == direct.table("steps")
    assert [event.type for event in queries.lifecycle(published.store)] == [
        EventType.WORKER_REGISTERED
    ]


@pytest.mark.parametrize("chunk_bytes", [1, 1 << 20])
def test_a_second_attempt_continues_the_curve_from_its_checkpoint(
    run: Run, chunk_bytes: int
) -> None:
    run.write(
        lines.registered(0),
        *(lines.metric(seq, value=1.0, at=10 * seq) for seq in range(1, 6)),
        lines.registered(6, attempt=2),
        lines.lifecycle("checkpoint_loaded", 7, path="x", step=30),
        *(lines.metric(seq, value=2.0, at=10 * (seq - 4)) for seq in range(8, 11)),
    )
    run.ingest_all(chunk_bytes)
    curve = sorted((row[5], row[4]) for row in run.table("metrics"))
    assert curve == [(10, 1.0), (20, 1.0), (30, 1.0), (40, 2.0), (50, 2.0), (60, 2.0)]


@pytest.mark.parametrize("which", ["store", "journal"])
def test_a_pipe_in_the_place_of_a_file_is_never_waited_for(run: Run, which: str) -> None:
    run.write(lines.metric(1))
    if which == "journal":
        run.journal.unlink()
    os.mkfifo(getattr(run, which))
    if which == "store":
        assert run.ingest_all().events == 1 and len(run.table("metrics")) == 1
    else:
        with pytest.raises(StoreError, match="regular file"):
            run.ingest_all()
