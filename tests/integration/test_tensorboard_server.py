"""A real TensorBoard is shown a run's logs, and never outlives the command that started it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from tensorboard.compat.proto import event_pb2
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from mosaic.analytics.tensorboard.logs import LogTree
from mosaic.analytics.tensorboard.server import TensorBoardServer, answers
from mosaic.contracts.manifest import AnalyticsManifest, TensorBoardArtifact
from mosaic.errors import DependencyError, RequestError
from mosaic.files import atomic_write_json
from tests.daemon_harness import DaemonHarness
from tests.waiting import PATIENCE_S, wait_until

ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)


def write_events(folder: Path, tag: str = "loss") -> Path:
    writer = EventFileWriter(str(folder))
    for step in range(3):
        writer.add_event(
            event_pb2.Event(wall_time=time.time(), step=step, summary=scalar_pb(tag, step / 2))
        )
    writer.close()
    return folder


def session_of(leader: int) -> list[int]:
    """Every process that the server and its helpers consist of, zombies aside."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except (OSError, IndexError):
            continue
        if entry.name.isdigit() and int(fields[3]) == leader and fields[0] != "Z":
            found.append(int(entry.name))
    return found


def fetch(url: str) -> Any:
    with urlopen(url, timeout=PATIENCE_S) as answer:
        return json.load(answer)


def tags_of(url: str, run: str) -> list[str]:
    """Of its scalars; TensorBoard knows of a run before it has read its events."""
    return list(fetch(f"{url}data/plugin/scalars/tags").get(run, ()))


def test_a_server_shows_named_logs_to_those_who_know_its_address(tmp_path: Path) -> None:
    tree = LogTree(tmp_path)
    tree.add("odd, name: yes", write_events(tmp_path / "log"))
    with TensorBoardServer(tree) as server:
        url = server.url
        assert url.startswith("http://127.0.0.1:")
        runs = wait_until(lambda: fetch(f"{url}data/runs"), what="TensorBoard to see the run")
        assert runs == ["odd, name: yes"]
        assert wait_until(lambda: tags_of(url, "odd, name: yes"), what="its tags") == ["loss"]
        root = url.rpartition("/")[0].rpartition("/")[0]
        assert not answers(f"{root}/")
        processes = session_of(server.pid or 0)
        assert processes
        with pytest.raises(RequestError, match="cannot be started"):
            TensorBoardServer(LogTree(tmp_path), port=int(root.rpartition(":")[2])).start()
    assert not answers(url)
    assert not server.is_running
    assert sorted(path.name for path in tmp_path.iterdir()) == ["log"]
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in processes))


def test_an_interpreter_without_tensorboard_is_named(tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -S "$@"\n')
    bare.chmod(0o755)
    with pytest.raises(DependencyError, match="bare") as caught:
        TensorBoardServer(LogTree(tmp_path), python=str(bare)).start()
    assert "pip install" in caught.value.hint
    with pytest.raises(RequestError, match="no/such/python"):
        TensorBoardServer(LogTree(tmp_path), python="/no/such/python").start()
    assert [path.name for path in tmp_path.iterdir()] == ["bare"]


@pytest.fixture
def shown_run(daemon: DaemonHarness) -> Iterator[str]:
    run_id = daemon.submit(run_name="seen", config={"episodes": 1})
    daemon.wait_over(run_id)
    files = daemon.home.run(run_id)
    write_events(files.directory / "tb")
    manifest = AnalyticsManifest(run_id, "w", tensorboard=TensorBoardArtifact(True, "tb"))
    atomic_write_json(files.manifest, manifest.to_dict())
    yield run_id


def command(daemon: DaemonHarness, temporary: Path, *words: str) -> subprocess.Popen[str]:
    environment = {**daemon.environment, "TMPDIR": str(temporary)}
    return subprocess.Popen(
        [sys.executable, "-m", "mosaic.cli", *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def read_document(process: subprocess.Popen[str]) -> Any:
    assert process.stdout is not None and process.stderr is not None
    lines: list[str] = []
    while lines[-1:] != ["}\n"]:
        lines.append(process.stdout.readline())
        assert lines[-1], process.stderr.read()
    return json.loads("".join(lines))


def is_session_over(leader: int) -> bool:
    return not session_of(leader)


def test_nothing_is_left_however_the_command_ends(
    daemon: DaemonHarness, shown_run: str, tmp_path: Path
) -> None:
    commands = {
        number: command(daemon, tmp_path, "tensorboard", shown_run, "--json") for number in ENDINGS
    }
    try:
        for number, process in commands.items():
            said = read_document(process)
            assert list(said["runs"]) == ["seen"]
            assert answers(said["url"])
            leader = said["pid"]
            assert session_of(leader)
            os.kill(process.pid, number)
            process.wait(PATIENCE_S)
            assert process.returncode == (0 if number is signal.SIGINT else -number)
            wait_until(partial(is_session_over, leader), what=f"{number.name}: an end")
            assert not answers(said["url"])
    finally:
        for process in commands.values():
            process.kill()
            process.communicate()
    wait_until(lambda: not list(tmp_path.iterdir()), what="no scratch folder")


def test_a_run_without_event_files_is_shown_from_its_store(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    run_id = daemon.submit(run_name="stored", config={"episodes": 3})
    daemon.wait_over(run_id)
    process = command(daemon, tmp_path, "tensorboard", run_id, "--json")
    try:
        url = read_document(process)["url"]
        wait_until(lambda: "rollout/episodic_return" in tags_of(url, "stored"), what="its returns")
    finally:
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=PATIENCE_S)
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_shown_is_said(
    daemon: DaemonHarness, shown_run: str, tmp_path: Path
) -> None:
    printing = command(daemon, tmp_path, "tensorboard", shown_run, "--print")
    out, _ = printing.communicate(timeout=PATIENCE_S)
    assert out.startswith("tensorboard --host 127.0.0.1 --logdir ") and out.endswith("/tb\n")
    path = daemon.home.run(shown_run).manifest
    path.write_text('{"run_id": "R", "worker_type": "w", "tensorboard": {"enabled": "yes"}}')
    refused = command(daemon, tmp_path, "tensorboard", shown_run)
    _, complaint = refused.communicate(timeout=PATIENCE_S)
    assert refused.returncode == 1
    assert "'tensorboard.enabled'" in complaint and "Traceback" not in complaint
    assert not list(tmp_path.iterdir())
