"""W&B with real processes: offline runs are complete, and no fault of W&B delays a training."""

from __future__ import annotations

import os
import signal
import struct
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from cleanrl_worker.kit.writers import wandb
from cleanrl_worker.kit.writers.wandb import WandbSettings, WandbWriter
from tests.waiting import PATIENCE_S, wait_until

SETTINGS = WandbSettings(project="test", name="a run", run_id="run1", config={"seed": 1})


@pytest.fixture(autouse=True)
def _no_account(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("WANDB_")]:
        monkeypatch.delenv(name)


def fake_sidecar(script: str) -> Sequence[str]:
    return (sys.executable, "-c", script)


def stored_records(directory: Path) -> list[Any]:
    """The offline run as W&B wrote it: protobufs in the framing of a LevelDB log."""
    from wandb.proto.wandb_internal_pb2 import Record

    (path,) = directory.glob("wandb/offline-run-*/run-*.wandb")
    content, position, parts, records = path.read_bytes(), 7, b"", []
    while position < len(content):
        rest_of_block = 32_768 - position % 32_768
        if rest_of_block < 7:
            position += rest_of_block
            continue
        size, kind = struct.unpack_from("<HB", content, position + 4)
        parts += content[position + 7 : position + 7 + size]
        position += 7 + size
        if kind in (1, 4):  # whole, or the last piece
            records.append(Record.FromString(parts))
            parts = b""
    return records


def history(directory: Path) -> list[dict[str, str]]:
    return [
        {item.key or "/".join(item.nested_key): item.value_json for item in record.history.item}
        for record in stored_records(directory)
        if record.WhichOneof("record_type") == "history"
    ]


def test_offline_run_holds_everything_and_no_process_is_left(tmp_path: Path) -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    writer = WandbWriter(tmp_path, SETTINGS, close_timeout_s=100)
    for step in range(50):
        writer.scalar("charts/episodic_return", float(step), step)
        writer.scalar("losses/value_loss", 0.5, step)
    writer.close()

    assert writer.dropped == 0
    rows = history(tmp_path)
    assert [int(row["global_step"]) for row in rows] == list(range(50))
    assert [float(row["charts/episodic_return"]) for row in rows] == list(range(50))
    (run,) = [r.run for r in stored_records(tmp_path) if r.WhichOneof("record_type") == "run"]
    assert (run.project, run.display_name, run.run_id) == ("test", "a run", "run1")
    artifact = writer.artifact()
    assert (artifact.enabled, artifact.mode, artifact.run_id) == (True, "offline", "run1")
    assert {child.pid for child in psutil.Process().children(recursive=True)} == before


def test_hanging_sidecar_delays_neither_training_nor_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(wandb, "MAX_QUEUED_SAMPLES", 5_000)
    writer = WandbWriter(
        tmp_path,
        SETTINGS,
        command=fake_sidecar("import signal; signal.pause()"),
        close_timeout_s=0.2,
    )
    for step in range(20_000):  # far more than the pipe and the queue hold
        writer.scalar("charts/episodic_return", 1.0, step)
        if step % 5_000 == 0:
            writer.flush()
    writer.close()

    assert 0 < writer.dropped <= 20_000
    events = [record.message for record in caplog.records]
    assert events.count("wandb.samples_dropped") == 1
    assert "wandb.sidecar_killed" in events
    assert writer._process.returncode == -signal.SIGKILL
    assert not writer._thread.is_alive()


def test_crashed_sidecar_is_told_once_and_the_training_goes_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    writer = WandbWriter(tmp_path, SETTINGS, command=fake_sidecar("raise SystemExit('no W&B')"))
    writer._process.wait(PATIENCE_S)
    for step in range(3):
        writer.scalar("charts/episodic_return", 1.0, step)
        writer.flush()
    writer._thread.join(PATIENCE_S)
    writer.scalar("charts/episodic_return", 1.0, 4)
    writer.close()
    assert [record.message for record in caplog.records] == [
        "wandb.sidecar_lost",
        "wandb.samples_lost",
    ]
    assert "no W&B" in (tmp_path / "wandb" / "sidecar.log").read_text()
    assert writer.dropped == 4


TRAINING = """
import os, signal, sys
from pathlib import Path
from cleanrl_worker.kit.writers.wandb import WandbSettings, WandbWriter
writer = WandbWriter(Path(sys.argv[1]), WandbSettings(project="test"), close_timeout_s=0.1)
writer.scalar("charts/SPS", 1.0, 1)
environment = os.fork() or signal.alarm(100) or signal.pause()
print(writer._process.pid, environment, flush=True)
signal.pause()
"""


def test_sidecar_dies_with_a_killed_training(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [sys.executable, "-c", TRAINING, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    sidecar, environment = map(psutil.Process, map(int, process.stdout.readline().split()))
    service = wait_until(lambda: sidecar.children(recursive=True), what="W&B's service")
    process.kill()
    process.wait()
    process.stdout.close()
    # The forked environment still holds the pipe open, so nothing but the watchdog can notice.
    assert environment.is_running()
    for survivor in (sidecar, *service):
        survivor.wait(timeout=PATIENCE_S)
    environment.kill()
