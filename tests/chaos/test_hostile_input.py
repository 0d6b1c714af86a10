"""Journals, requests, configs and homes that no reasonable person would hand us (10)."""

from __future__ import annotations

import contextlib
import math
import sqlite3
import tempfile
import time
from pathlib import Path
from typing import Any

import grpc
import pytest
from google.protobuf.descriptor import FieldDescriptor
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mosaic.telemetry import queries
from mosaic.telemetry.ingest import JournalIngest
from mosaic.telemetry.journal.reader import read_raw_events
from mosaic.telemetry.queries import EpisodeOrder, episode_page, step_page
from mosaic.telemetry.series import bucketed_series
from mosaic.telemetry.store.reader import reading
from mosaic.wire.generated import trainer_pb2 as pb
from tests.chaos.announced_workers import announce_workers, emitting, printing
from tests.chaos.chaos_daemon import SLEEPER, ChaosDaemon, chaos_daemon, python_run
from tests.chaos.figures import record
from tests.chaos.hostile_journal import MARKER, hostile_lines, marker
from tests.journal_lines import RUN_ID, registered

pytestmark = pytest.mark.chaos


def with_markers(lines: list[bytes]) -> list[bytes]:
    """A sound event after every hostile line."""
    return [piece for number, line in enumerate(lines) for piece in (line, marker(number))]


def ingest(folder: Path, content: bytes) -> Path:
    """The store of a journal with these bytes; raises whatever ingestion would."""
    journal, store = folder / "events.jsonl", folder / "telemetry.sqlite"
    journal.write_bytes(content)
    ingestion = JournalIngest(RUN_ID, journal, store)
    try:
        while ingestion.step().has_more:
            pass
    finally:
        ingestion.close()
    return store


def markers_in(store: Path) -> list[int]:
    with contextlib.closing(sqlite3.connect(store)) as db:
        rows = db.execute("SELECT step FROM metrics WHERE name = ? ORDER BY cursor", (MARKER,))
        return [step for (step,) in rows]


def assert_all_accounted_for(store: Path, content: bytes) -> None:
    """Every line is an event, quarantined, or blank; and everything stored can be read back."""
    lines = content.removesuffix(b"\n").split(b"\n")
    with contextlib.closing(sqlite3.connect(store)) as db:
        events, quarantined = db.execute("SELECT events, quarantined FROM ingest_state").fetchone()
        assert db.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    assert events + quarantined == sum(bool(line.strip(b" \t\r\n\f\v")) for line in lines)
    queries.lifecycle(store)
    queries.recent_metrics(store, 1000)
    with reading(store) as reader:
        assert reader is not None
        bucketed_series(reader, MARKER, None, None, 100)
        episode_page(reader, EpisodeOrder.BEST, 1000)
        step_page(reader, 1000)
    for episode in range(3):
        queries.steps(store, episode)
    assert queries.quarantine_summary(store).lines == quarantined


def test_malformed_journal_lines_are_counted_and_nothing_else_is_lost(tmp_path: Path) -> None:
    batches, size, large = 10, 1100, 6
    began = time.monotonic()
    for seed in range(batches):
        folder = tmp_path / str(seed)
        folder.mkdir()
        content = registered() + b"".join(with_markers(hostile_lines(seed, size, large)))
        store = ingest(folder, content)
        assert markers_in(store) == list(range(size))
        assert_all_accounted_for(store, content)
        cursor, end = 0, len(content)
        while cursor < end:
            _, cursor = read_raw_events(folder / "events.jsonl", cursor)
    took_s = time.monotonic() - began
    record(
        "10",
        f"{batches * size:,} malformed lines ({batches * large} of 1 MiB and more): 0 crashes, "
        f"{batches * size:,} sound events between them all stored, {took_s:.0f} s",
    )


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
FIELDS = st.sampled_from(
    ["type", "seq", "timestamp", "run_id", "payload", "name", "value", "step", "reward"]
)
EVENT_LIKE = st.dictionaries(FIELDS | st.text(max_size=3), JSON).map(
    lambda event: repr(event).replace("'", '"').encode("utf-8", "surrogatepass")
)
LINES = st.lists(
    st.binary(max_size=60).map(lambda data: data.replace(b"\n", b"")) | EVENT_LIKE, max_size=12
)


@settings(max_examples=300, deadline=None, suppress_health_check=list(HealthCheck))
@given(LINES)
def test_any_bytes_at_all_can_be_ingested(lines: list[bytes]) -> None:
    content = b"".join(with_markers([line.replace(b"\n", b"") + b"\n" for line in lines]))
    with tempfile.TemporaryDirectory(prefix="mosaic-lines-") as folder:
        store = ingest(Path(folder), registered() + content)
        assert markers_in(store) == list(range(len(lines)))


def test_hostile_workers_neither_block_nor_harm_the_daemon(tmp_path: Path) -> None:
    raw = tmp_path / "raw"
    count = 2000
    raw.write_bytes(b"".join(with_markers(hostile_lines(99, count, large=5))))
    with chaos_daemon() as daemon:
        announce_workers(daemon.home)
        assert daemon.process is not None
        pid = daemon.process.pid
        printers = [
            daemon.submit(**printing("garbage")),
            daemon.submit(**printing("long_lines", "3")),
            daemon.submit(**printing("floods", "30")),
        ]
        hostile = daemon.submit(**emitting(steps=500, raw_lines_file=str(raw)))
        blocked_s = []
        for run_id in printers:
            record_of_run = daemon.wait_over(run_id, timeout_s=60)
            assert record_of_run.exit_code == 0, record_of_run
            outputs = daemon.home.run(run_id).directory / "outputs"
            blocked_s.append(float((outputs / "longest_print_s").read_text()))
        assert daemon.wait_over(hostile, timeout_s=60).exit_code == 0
        assert max(blocked_s) <= 1
        (loss,) = daemon.client.series(printers[1], "loss")
        assert loss.first_steps == (0, 1, 2, 3)
        assert markers_in(daemon.home.run(hostile).telemetry) == list(range(count))
        assert_answers_about(daemon, hostile)
        assert daemon.process.pid == pid
        assert daemon.process.poll() is None
        assert not daemon.logged("task.failed")
        assert not daemon.logged("call.failed")
        record(
            "10",
            f"workers that print garbage, 3 MiB lines and 30 MB of text: held up for at most "
            f"{max(blocked_s) * 1e3:.0f} ms; {count:,} hostile lines in a live journal: all "
            f"{count:,} sound events between them stored",
        )


def assert_answers_about(daemon: ChaosDaemon, run_id: str) -> None:
    client = daemon.client
    assert client.get_run(run_id).to_dict()["run_id"] == run_id
    assert run_id in [item.run_id for item in client.list_runs()]
    assert len(client.recent_metrics(run_id, 100)) == 100
    for batch in client.stream_events(run_id):
        batch.events()


EXTREMES: dict[int, tuple[float, ...]] = {
    FieldDescriptor.TYPE_UINT32: (0, 1, 2**31, 2**32 - 1),
    FieldDescriptor.TYPE_UINT64: (0, 1, 2**53, 2**63, 2**64 - 1),
    FieldDescriptor.TYPE_DOUBLE: (-1.0, math.nan, math.inf, -math.inf, 1e308),
}
ANSWERS = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.NOT_FOUND,
    grpc.StatusCode.DATA_LOSS,  # an import that is no archive
    grpc.StatusCode.RESOURCE_EXHAUSTED,  # one larger than the disk
    grpc.StatusCode.FAILED_PRECONDITION,
    grpc.StatusCode.UNAUTHENTICATED,
}


def answer(channel: grpc.Channel, method: Any, request: Any) -> grpc.StatusCode:
    path = f"/{method.containing_service.full_name}/{method.name}"
    send = channel.stream_stream(path, None, None)
    answers = send(iter([request.SerializeToString()]), timeout=20)
    try:
        for _ in answers:
            answers.cancel()
            return grpc.StatusCode.OK
    except grpc.RpcError as error:
        return error.code()
    return grpc.StatusCode.OK


def test_extreme_numbers_and_cursors_are_answered_like_any_other_mistake() -> None:
    service = pb.DESCRIPTOR.services_by_name["Trainer"]
    tried = 0
    with chaos_daemon() as daemon:
        run_id = daemon.submit(**python_run(f"print('a line', flush=True); {SLEEPER}"))
        daemon.wait_for_output(run_id, "a line")
        with grpc.insecure_channel(f"unix:{daemon.home.daemon_socket}") as channel:
            for method in service.methods:
                fields = method.input_type.fields_by_name
                known = {"run_id": run_id} if "run_id" in fields else {}
                for field in fields.values():
                    for number in EXTREMES.get(field.type, ()):
                        values: dict[str, Any] = {**known, field.name: number}
                        request = getattr(pb, method.input_type.name)(**values)
                        code = answer(channel, method, request)
                        assert code in ANSWERS, f"{method.name}.{field.name} = {number}: {code}"
                        tried += 1
            (log,) = daemon.home.run(run_id).logs.glob("*.stdout.log")
            inode = log.stat().st_ino
            for offset in ("-1", "9" * 30, str(2**63), str(2**62), "x", "", "1:1", "٣"):
                after = [f"stdout:{inode}:{offset}"]
                request = pb.StreamLogRequest(run_id=run_id, after=after)
                code = answer(channel, service.methods_by_name["StreamLog"], request)
                assert code in ANSWERS, f"{after}: {code}"
                tried += 1
        daemon.client.stop_run(run_id, reason="x\x00\x1b" * 1_000_000, grace_s=0)
        transitions = daemon.wait_over(run_id).transitions
        assert max(len(item.reason) for item in transitions) < 1000
        assert not daemon.logged("call.failed")
        record("10", f"{tried} extreme numbers and cursors in every field of every call: 0 crashes")
