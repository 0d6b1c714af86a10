"""Whatever an archive holds, it is refused with a reason or taken in without harm.

One daemon takes all of them, one after the other, and is restarted now and then: no process is
started, no file outside of the home is touched, memory stays below a stated bound, and the home
is as usable afterwards as before.
"""

from __future__ import annotations

import contextlib
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from mosaic.cli.main import main
from mosaic.client import calls
from mosaic.client.trainer_client import TrainerClient
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.errors import MosaicError, RunStateError
from mosaic.wire.generated import trainer_pb2 as pb
from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.hostile_archives import (
    CANARY,
    HOSTILE,
    Hostile,
    content_of,
    hostile_archive,
    packed,
)
from tests.kept_runs import traces
from tests.waiting import PATIENCE_S, wait_until

# A daemon that does nothing has about 60 MB; no archive may take it beyond this.
MOST_MEMORY_MB = 250
RESTART_EVERY = 40
SECRET = b"canary-of-a-secret"


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The archive of a run that trained, from a home that is gone."""
    with running_daemon() as source:
        run_id = source.submit()
        source.wait_over(run_id)
        path = tmp_path_factory.mktemp("archives") / "good.zip"
        yield source.client.archive_run(run_id, path)


@pytest.fixture(scope="module")
def target() -> Iterator[DaemonHarness]:
    """A home with a run of its own."""
    with running_daemon() as harness:
        harness.wait_over(harness.submit(run_name="resident"))
        yield harness


@pytest.fixture(autouse=True, scope="module")
def restarts(target: DaemonHarness) -> Iterator[list[int]]:
    yield [0]


def imported(daemon: DaemonHarness, data: bytes, tmp_path: Path) -> RunRecord:
    path = tmp_path / "hostile.zip"
    path.write_bytes(data)
    return daemon.client.import_run(path)


def peak_memory_mb(daemon: DaemonHarness) -> float:
    assert daemon.process is not None
    status = Path(f"/proc/{daemon.process.pid}/status").read_text()
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    assert found
    return int(found[1]) / 1000


def assert_usable(daemon: DaemonHarness) -> None:
    assert daemon.process is not None
    health = daemon.client.health()
    assert health.healthy, health.alarms
    (resident,) = daemon.client.list_runs(contains="resident", limit=0)
    assert daemon.client.get_run(resident.run_id).run_name == "resident"
    assert daemon.client.metrics(resident.run_id)
    assert list(daemon.home.transfer.iterdir()) == []
    assert daemon.processes() == [daemon.process.pid]
    assert peak_memory_mb(daemon) < MOST_MEMORY_MB


def assert_harmless(daemon: DaemonHarness, run_id: str) -> None:
    """Everything that the daemon itself reads of a run can be asked for."""
    record = daemon.client.get_run(run_id)
    assert record.origin is Origin.IMPORTED
    assert record.revision <= 2**40 and record.gpu_slots == ()
    assert not record.checkpoint_uri.startswith("/")
    assert run_id in [run.run_id for run in daemon.client.list_runs(limit=0)]
    daemon.client.metrics(run_id)
    daemon.client.episodes(run_id)
    list(daemon.client.stream_log(run_id))
    list(daemon.client.stream_events(run_id))
    folder = daemon.home.run(run_id).directory
    for path in [folder, *folder.rglob("*"), *daemon.home.configs.iterdir()]:
        with contextlib.suppress(FileNotFoundError):  # the journal is being packed
            mode = path.lstat().st_mode
            assert not mode & 0o077 and (stat.S_ISREG(mode) or stat.S_ISDIR(mode)), path
            assert not stat.S_ISREG(mode) or SECRET not in path.read_bytes(), path


def assert_nothing_outside(daemon: DaemonHarness) -> None:
    for folder in (Path("/"), Path("/tmp"), Path("/etc"), Path.cwd(), daemon.home.root.parent):
        assert not (folder / CANARY).exists()
    assert not list(daemon.home.root.rglob(f"*{CANARY}*"))


@pytest.mark.parametrize("hostile", HOSTILE, ids=[each.name for each in HOSTILE])
def test_a_hostile_archive_is_refused_or_harmless(
    hostile: Hostile, good: Path, target: DaemonHarness, tmp_path: Path, restarts: list[int]
) -> None:
    run_id = run_id_of(good)
    data = hostile_archive(good, hostile)
    if hostile.words is None:
        record = imported(target, data, tmp_path)
        try:
            assert record.run_id == run_id
            told = record.transitions[-1].reason
            assert hostile.note in told if hostile.note else told == "imported from an archive"
            assert_harmless(target, run_id)
        finally:
            target.client.delete_run(record.run_id, for_good=True)
    else:
        with pytest.raises(MosaicError, match=re.escape(hostile.words)) as caught:
            imported(target, data, tmp_path)
        assert caught.value.hint and type(caught.value) is not MosaicError
    assert traces(target.home, run_id) == []
    assert_nothing_outside(target)
    assert_usable(target)
    restarts[0] += 1
    if restarts[0] % RESTART_EVERY == 0:
        target.stop()
        target.start()
        assert_usable(target)


def run_id_of(good: Path) -> str:
    return content_of(good).run_id


def test_a_good_archive_is_taken_in_after_all_of_them_and_is_what_it_was(
    good: Path, target: DaemonHarness, tmp_path: Path
) -> None:
    target.stop()
    target.start()
    record = target.client.import_run(good)
    assert record.transitions[-1].reason == "imported from an archive"
    again = target.client.archive_run(record.run_id, tmp_path / "again.zip")
    first, second = content_of(good), content_of(again)
    changed = {"run/run.json", "run/telemetry.sqlite"}
    assert first.files.keys() == second.files.keys()
    for name in first.files.keys() - changed:
        assert first.files[name] == second.files[name], name
    with pytest.raises(RunStateError, match="already here, with the same content"):
        target.client.import_run(good)
    target.client.delete_run(record.run_id)
    with pytest.raises(RunStateError, match="in the trash"):
        target.client.import_run(good)
    target.client.empty_trash([record.run_id])


def test_of_many_imports_of_one_run_at_once_one_is_taken(good: Path, target: DaemonHarness) -> None:
    outcomes: list[str] = []

    def take_in() -> None:
        with TrainerClient(home=target.home, autostart=False) as client:
            try:
                client.import_run(good)
                outcomes.append("taken")
            except RunStateError:
                outcomes.append("refused")

    threads = [threading.Thread(target=take_in) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    assert sorted(outcomes) == ["refused"] * 5 + ["taken"]
    target.client.delete_run(run_id_of(good), for_good=True)
    assert_usable(target)


def test_the_archive_of_a_live_run_does_not_replace_it(
    good: Path, target: DaemonHarness, tmp_path: Path
) -> None:
    live = target.submit(config={"episodes": 1_000_000})
    target.wait_for(live, "EXEC")
    content = content_of(good)
    old = content.run_id
    content.index["run_id"] = content.row["run_id"] = content.run_id = live
    content.files = {name.replace(old, live): data for name, data in content.files.items()}
    with pytest.raises(RunStateError, match="already a run"):
        imported(target, packed(content), tmp_path)
    assert target.client.get_run(live).state == "EXEC"
    target.client.stop_run(live, grace_s=0)
    target.wait_over(live)
    target.client.delete_run(live, for_good=True)
    assert_usable(target)


@pytest.mark.parametrize(
    ("announced", "words"),
    [(0, "more than the 0 bytes"), (10, "more than the 10 bytes"), (2**62, "MB"), (None, "only")],
)
def test_an_upload_that_lies_about_its_size_is_refused(
    announced: int | None, words: str, good: Path, target: DaemonHarness
) -> None:
    data = good.read_bytes()
    size = len(data) + 1000 if announced is None else announced
    chunks = iter([pb.ArchiveChunk(data=data, total_bytes=size)])
    with pytest.raises(MosaicError, match=words):
        target.client._call(calls.import_run(chunks))
    assert_usable(target)


def test_an_upload_that_is_cut_off_leaves_nothing(good: Path, target: DaemonHarness) -> None:
    def chunks() -> Iterator[pb.ArchiveChunk]:
        yield pb.ArchiveChunk(data=good.read_bytes()[:1000], total_bytes=10**6)
        raise ConnectionError

    with pytest.raises(Exception):  # noqa: B017 (gRPC's word for it differs by version)
        target.client._call(calls.import_run(chunks()))
    wait_until(lambda: not list(target.home.transfer.iterdir()), what="the file to go")
    assert_usable(target)


def test_a_client_key_from_elsewhere_does_not_stand_for_a_run_of_this_home(
    good: Path, target: DaemonHarness, tmp_path: Path
) -> None:
    (claim,) = [each for each in HOSTILE if each.name == "entry-that-claims-to-be-from-here"]
    record = imported(target, hostile_archive(good, claim), tmp_path)
    run_id = target.client.start_run(run_document(), client_key="a-key-of-this-home")
    assert run_id != record.run_id
    target.wait_over(run_id)
    for each in (run_id, record.run_id):
        target.client.delete_run(each, for_good=True)


def test_the_command_says_what_was_left_out_and_takes_a_larger_limit(
    good: Path, target: DaemonHarness, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wild, bomb = (
        next(each for each in HOSTILE if each.name == name)
        for name in ("capabilities-of-wild-types", "bomb-of-300-mb")
    )
    path, words = tmp_path / "run.zip", ["--home", str(target.home.root), "import"]
    path.write_bytes(hostile_archive(good, wild))
    assert main([*words, str(path)]) == 0
    assert "note: its capabilities were left out" in capsys.readouterr().out
    target.client.delete_run(run_id_of(good), for_good=True)
    path.write_bytes(hostile_archive(good, bomb))
    assert main([*words, str(path)]) == 1
    assert "--max-size 301MB" in capsys.readouterr().err
    assert main([*words, "--max-size", "301MB", str(path)]) == 0
    target.client.delete_run(run_id_of(good), for_good=True)


def test_submitting_still_works_after_all_of_them(target: DaemonHarness) -> None:
    run_id = target.client.start_run(run_document())
    assert target.wait_over(run_id).outcome == "succeeded"
