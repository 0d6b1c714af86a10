"""Trash, retention and archives with real daemons, real runs and the real command line."""

from __future__ import annotations

import io
import json
import random
import shutil
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.main import main
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.keeping import RetentionPolicy
from mosaic.errors import (
    ConfigError,
    CorruptStoreError,
    RequestError,
    RunStateError,
    UnknownRunError,
)
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness, run_document, running_daemon
from tests.kept_runs import picture, traces
from tests.waiting import PATIENCE_S, wait_until

ENDLESS = {"episodes": 1_000_000}


@pytest.fixture(scope="module")
def shared() -> Iterator[DaemonHarness]:
    """One daemon for the tests that leave their runs as they found them."""
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def elsewhere() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


def finished(daemon: DaemonHarness, **changes: Any) -> str:
    """A run of a plain program, which takes no time."""
    command = {"entry_point": sys.executable, "arguments": ["-c", "print('hello')"]}
    run_id = daemon.client.start_run({**run_document(**command), **changes})
    daemon.wait_over(run_id)
    return run_id


def trained(daemon: DaemonHarness, **changes: Any) -> str:
    """A run with telemetry."""
    run_id = daemon.submit(**changes)
    daemon.wait_over(run_id)
    return run_id


def told(daemon: DaemonHarness, run_id: str) -> dict[str, Any]:
    """Everything a person can be shown about a run, but the number of its last change."""
    record = daemon.client.get_run(run_id).to_dict()
    record.pop("revision")
    log = b"".join(chunk.data for chunk in daemon.client.stream_log(run_id))
    events = [event for batch in daemon.client.stream_events(run_id) for event in batch.lines]
    metrics = daemon.client.recent_metrics(run_id, 50)
    return {"record": record, "log": log, "events": events, "metrics": metrics}


class CommandLine:
    """`mosaic` in this process: starting one takes longer than most of what it does."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, daemon: DaemonHarness, *words: str, status: int = 0) -> str:
        self._capsys.readouterr()
        found = main(["--home", str(daemon.home.root), *words])
        output = "".join(self._capsys.readouterr())
        assert found == status, output
        return output


@pytest.fixture
def mosaic(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> CommandLine:
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    return CommandLine(capsys)


def test_a_restored_run_is_what_it_was(shared: DaemonHarness) -> None:
    run_id = trained(shared)
    before, files = told(shared, run_id), picture(shared.home, run_id)
    deletion = shared.client.delete_run(run_id)
    assert deletion.is_in_trash and deletion.freed_bytes > 1000
    with pytest.raises(UnknownRunError):
        shared.client.get_run(run_id)
    assert run_id not in [run.run_id for run in shared.client.list_runs()]
    trashed = {run.run_id: run for run in shared.client.trash()}[run_id]
    assert (trashed.run_name, trashed.reason) == ("test", "user")
    assert shared.client.restore_run(run_id).run_id == run_id
    assert told(shared, run_id) == before
    assert picture(shared.home, run_id) == files
    with pytest.raises(UnknownRunError):
        shared.client.restore_run(run_id)


def test_live_and_unknown_runs_are_refused_everything(
    shared: DaemonHarness, tmp_path: Path
) -> None:
    run_id = shared.submit(config=ENDLESS)
    shared.wait_for(run_id, "EXEC")
    with pytest.raises(RunStateError, match="cannot be deleted"):
        shared.client.delete_run(run_id)
    with pytest.raises(RunStateError, match="cannot be archived"):
        shared.client.archive_run(run_id, tmp_path / "a.zip")
    assert list(tmp_path.iterdir()) == []
    assert shared.client.pin_run(run_id).pinned, "but it can be pinned"
    shared.client.stop_run(run_id, grace_s=0)
    assert shared.wait_over(run_id).pinned
    unknown = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
    for call in (
        shared.client.delete_run,
        shared.client.restore_run,
        shared.client.pin_run,
        lambda run: shared.client.empty_trash([run]),
        lambda run: shared.client.archive_run(run, tmp_path / "a.zip"),
    ):
        for run in (unknown, "../../etc", "", "\x00"):
            with pytest.raises(UnknownRunError):
                call(run)
    assert list(tmp_path.iterdir()) == []


def test_the_trash_is_emptied_for_good(shared: DaemonHarness) -> None:
    first, second = finished(shared), finished(shared)
    for run_id in (first, second):
        shared.client.delete_run(run_id)
    freed, count = shared.client.empty_trash([first, first])
    assert freed > 1000 and count == 1
    assert traces(shared.home, first) == []
    assert shared.client.restore_run(second).run_id == second
    with pytest.raises(UnknownRunError):
        shared.client.empty_trash([first])


def test_many_at_once_leave_a_whole_run(shared: DaemonHarness) -> None:
    run_id = finished(shared)
    files = picture(shared.home, run_id)
    story = [item.reason for item in shared.client.get_run(run_id).transitions]

    def hammer() -> None:
        for call in (shared.client.delete_run, shared.client.restore_run) * 5:
            try:
                call(run_id)
            except (UnknownRunError, RunStateError):
                continue

    threads = [threading.Thread(target=hammer) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE_S)
    if run_id in [run.run_id for run in shared.client.trash()]:
        shared.client.restore_run(run_id)
    assert picture(shared.home, run_id) == files
    assert [item.reason for item in shared.client.get_run(run_id).transitions] == story


def test_retention_lists_then_moves_and_spares_parents_pins_and_queued_runs(
    daemon: DaemonHarness,
) -> None:
    parent, pinned, plain = (finished(daemon) for _ in range(3))
    child = finished(daemon, metadata=child_of(parent))
    daemon.submit(config=ENDLESS)
    daemon.client.pin_run(pinned)
    policy = RetentionPolicy(max_age_days=0)
    listed = daemon.client.apply_retention(policy)
    assert {choice.run_id for choice in listed.deleted} == {plain, child}
    assert listed.kept == 3 and listed.kept_bytes > 1000
    assert len(daemon.client.list_runs()) == 5, "a dry run changes nothing"
    done = daemon.client.apply_retention(policy, dry_run=False)
    assert done.deleted == listed.deleted
    assert {run.reason for run in daemon.client.trash()} == {"older than 0 days"}
    # Without its child nobody needs the parent any more.
    again = daemon.client.apply_retention(policy)
    assert [choice.run_id for choice in again.deleted] == [parent]
    with pytest.raises(ConfigError, match="no rule"):
        daemon.client.apply_retention(RetentionPolicy())


def child_of(parent: str) -> dict[str, Any]:
    return {"lineage": {"parent_run": parent}}


def test_a_standing_policy_is_applied_at_start_and_a_broken_one_is_an_alarm(
    daemon: DaemonHarness,
) -> None:
    run_id = finished(daemon)
    kept = finished(daemon)
    settings = daemon.home.retention_settings
    settings.write_text("[retention]\nkeep_lst = 1\n")
    daemon.stop()
    daemon.start()
    wait_until(
        lambda: "keep_lst" in " ".join(daemon.client.health().alarms), what="an alarm about it"
    )
    assert len(daemon.client.list_runs()) == 2
    settings.write_text("[retention]\nkeep_last = 1\n[trash]\nkeep_days = 0\n")
    daemon.stop()
    daemon.start()
    wait_until(lambda: len(daemon.client.list_runs()) == 1, what="the older run to go")
    assert [run.run_id for run in daemon.client.list_runs()] == [kept]
    assert [run.run_id for run in daemon.client.trash()] == [run_id]
    daemon.stop()
    daemon.start()
    wait_until(lambda: not traces(daemon.home, run_id), what="the trash to be emptied by itself")


def test_an_archive_is_a_run_in_another_home(
    shared: DaemonHarness, elsewhere: DaemonHarness, tmp_path: Path
) -> None:
    document = run_document()
    document["metadata"]["group"] = "g"
    run_id = trained(shared, metadata=document["metadata"])
    shared.client.pin_run(run_id)
    before = told(shared, run_id)
    path = shared.client.archive_run(run_id, tmp_path / "run.zip")
    assert path.stat().st_mode & 0o777 == 0o600
    with pytest.raises(RequestError, match="exists already"):
        shared.client.archive_run(run_id, path)
    with pytest.raises(RunStateError, match="already here, with the same content"):
        shared.client.import_run(path)
    record = elsewhere.client.import_run(path)
    assert (record.run_id, record.pinned, record.group) == (run_id, True, "g")
    assert record.transitions[-1].reason == "imported from an archive"
    after = told(elsewhere, run_id)
    for name in ("log", "events", "metrics"):
        assert after[name] == before[name]
    # Whoever submits it again is reminded that it is not their own.
    assert after["record"]["config"]["metadata"].pop("config_of") == run_id
    for name in ("progress", "outcome", "config", "capabilities", "metrics_digest", "created_at"):
        assert after["record"][name] == before["record"][name]
    assert list(elsewhere.home.transfer.iterdir()) == []
    elsewhere.stop()
    elsewhere.start()
    assert told(elsewhere, run_id)["events"] == before["events"]
    assert elsewhere.client.get_run(run_id).transitions == record.transitions


def test_an_import_of_a_run_that_is_in_the_trash_or_differs_is_refused(
    shared: DaemonHarness, tmp_path: Path
) -> None:
    run_id = finished(shared)
    path = shared.client.archive_run(run_id, tmp_path / "run.zip")
    (shared.home.run(run_id).directory / "attempts" / "1" / "exit.json").write_text("changed")
    with pytest.raises(RunStateError, match="differ"):
        shared.client.import_run(path)
    shared.client.delete_run(run_id)
    with pytest.raises(RunStateError, match="in the trash"):
        shared.client.import_run(path)
    shared.client.empty_trash([run_id])
    assert shared.client.import_run(path).run_id == run_id


def test_damaged_archives_leave_nothing_behind(
    shared: DaemonHarness, elsewhere: DaemonHarness, tmp_path: Path
) -> None:
    run_id = finished(shared)
    sound = shared.client.archive_run(run_id, tmp_path / "run.zip").read_bytes()
    chance, damaged = random.Random(11), tmp_path / "damaged.zip"
    for number in range(40):
        data = bytearray(sound)
        if number % 4 == 3:
            data = data[: chance.randrange(len(data))]
        else:
            data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
        damaged.write_bytes(data)
        with pytest.raises(CorruptStoreError, match="refused"):
            elsewhere.client.import_run(damaged)
    assert traces(elsewhere.home, run_id) == []
    assert list(elsewhere.home.transfer.iterdir()) == []
    for missing in (tmp_path / "none.zip", tmp_path):
        with pytest.raises(RequestError, match="cannot be read"):
            elsewhere.client.import_run(missing)
    assert elsewhere.client.health().healthy


def test_an_archive_holds_no_secret(shared: DaemonHarness, tmp_path: Path) -> None:
    canary = "canary-77ab12"
    run_id = shared.submit_script(
        "prints_secret", "WANDB_API_KEY", environment={"WANDB_API_KEY": canary}
    )
    shared.wait_over(run_id)
    path = shared.client.archive_run(run_id, tmp_path / "run.zip")
    unpacked = tmp_path / "unpacked"
    shutil.unpack_archive(path, unpacked)
    files = [found for found in unpacked.rglob("*") if found.is_file()]
    assert files and not [found for found in files if canary.encode() in found.read_bytes()]
    token = shared.home.run(run_id).attempt(1).token
    assert token.exists(), "there is a token, but not in the archive"
    assert not [found for found in files if token.read_bytes() in found.read_bytes()]


def test_a_daemon_that_dies_while_it_archives_leaves_no_file(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    run_id = finished(daemon)
    with (daemon.home.run(run_id).directory / "big.bin").open("wb") as file:
        for number in range(60):
            file.write(random.Random(number).randbytes(1_000_000))
    failures: list[BaseException] = []

    def archive() -> None:
        try:
            daemon.client.archive_run(run_id, tmp_path / "run.zip")
        except BaseException as error:  # noqa: BLE001 (judged below)
            failures.append(error)

    thread = threading.Thread(target=archive)
    thread.start()
    wait_until(lambda: any(path.stat().st_size for path in tmp_path.iterdir()), what="some bytes")
    with pytest.raises(RunStateError, match="being archived"):
        daemon.client.delete_run(run_id)
    daemon.kill()
    daemon.start()
    thread.join(PATIENCE_S)
    assert len(failures) == 1 and "archive" in str(failures[0])
    assert list(tmp_path.iterdir()) == []
    wait_until(lambda: list(daemon.home.transfer.iterdir()) == [], what="a tidy folder")
    assert daemon.client.archive_run(run_id, tmp_path / "run.zip").exists()


async def test_the_asynchronous_client_can_do_all_of_it(
    shared: DaemonHarness, tmp_path: Path
) -> None:
    run_id = finished(shared)
    async with AsyncTrainerClient(home=shared.home, autostart=False) as client:
        assert (await client.pin_run(run_id)).pinned
        assert not (await client.pin_run(run_id, False)).pinned
        path = await client.archive_run(run_id, tmp_path / "run.zip")
        assert (await client.delete_run(run_id)).is_in_trash
        assert run_id in [run.run_id for run in await client.trash()]
        assert (await client.restore_run(run_id)).run_id == run_id
        await client.delete_run(run_id)
        assert (await client.empty_trash([run_id]))[1] == 1
        assert (await client.import_run(path)).run_id == run_id
        result = await client.apply_retention(RetentionPolicy(max_age_days=1000))
        assert result.deleted == ()


def test_the_commands(mosaic: CommandLine, shared: DaemonHarness, tmp_path: Path) -> None:
    run_id = finished(shared, run_name="mine", metadata={"group": "my group"})
    other = finished(shared, run_name="other")
    assert run_id in mosaic(shared, "runs", "--group", "my group")
    assert other not in mosaic(shared, "runs", "--group", "my group")
    assert "my group" in mosaic(shared, "show", run_id)
    assert "pinned mine" in mosaic(shared, "pin", run_id)
    assert "never cleaned up" in mosaic(shared, "show", run_id)
    assert "unpinned mine" in mosaic(shared, "unpin", run_id)
    assert "nothing to clean up" in mosaic(shared, "clean", "--max-age", "1000")
    assert "needs a rule" in mosaic(shared, "clean", status=2)
    assert "--max-size" in mosaic(shared, "clean", "--max-size", "lots", status=2)
    assert "pass --yes" in mosaic(shared, "clean", "--keep-last", "1", status=5)
    shown = json.loads(mosaic(shared, "clean", "--keep-last", "1", "--dry-run", "--json"))
    assert run_id in [choice["run_id"] for choice in shown["deleted"]] and shown["dry_run"]
    assert f"mosaic restore {run_id}" in mosaic(shared, "delete", run_id)
    assert "mine" in mosaic(shared, "trash")
    assert "restored mine" in mosaic(shared, "restore", "mine")
    assert "no run 'mine' in the trash" in mosaic(shared, "restore", "mine", status=4)
    out = mosaic(shared, "archive", run_id, other, "--out", str(tmp_path))
    archive = tmp_path / f"mine-{run_id}.mosaic.zip"
    assert archive.exists() and "archived other" in out
    assert "pass --yes" in mosaic(shared, "delete", "--for-good", run_id, status=5)
    assert "freed" in mosaic(shared, "delete", "--for-good", "--yes", run_id)
    both = mosaic(shared, "import", str(archive), str(tmp_path / "none"), status=2)
    assert "imported mine" in both and "none cannot be read" in both
    mosaic(shared, "delete", run_id)
    assert "pass --yes" in mosaic(shared, "trash", "--empty", run_id, status=5)
    assert "1 run deleted for good" in mosaic(shared, "trash", "--empty", run_id, "--yes")


def test_a_checkpoint_is_evaluated_in_a_home_it_was_not_made_in(
    mosaic: CommandLine, tmp_path: Path
) -> None:
    """Archived in one home, which is then deleted; shown, read and evaluated in another."""
    archive = tmp_path / "trained.zip"
    with running_daemon() as first:
        out = mosaic(first, "train", "ppo", "CartPole-v1", "--total-timesteps", "2000")
        assert "succeeded" in out
        (trained,) = first.client.list_runs()
        mosaic(first, "eval", trained.run_id, "--episodes", "2")
        evaluated = first.client.list_runs(limit=1)[0]
        first.client.archive_run(trained.run_id, archive)
        first.client.archive_run(evaluated.run_id, tmp_path / "evaluated.zip")
        old_root = str(first.home.root)
    assert not Path(old_root).exists()
    with running_daemon() as second:
        out = mosaic(second, "import", str(archive), str(tmp_path / "evaluated.zip"))
        assert out.count("imported") == 2
        assert "imported from an archive" in mosaic(second, "show", trained.run_id)
        assert second.client.recent_metrics(trained.run_id, 5)
        mosaic(second, "logs", trained.run_id)
        out = mosaic(second, "eval", trained.run_id, "--episodes", "2")
        assert "succeeded" in out
        config = second.client.get_run(evaluated.run_id).config
        assert old_root not in json.dumps(config)
        extras = config["metadata"]["worker"]["config"]["extras"]
        assert Path(extras["policy_path"]).exists()
        choices = second.client.apply_retention(RetentionPolicy(max_age_days=0)).deleted
        assert trained.run_id not in [choice.run_id for choice in choices], "it has children"


def test_an_archive_of_any_name_finds_its_way(mosaic: CommandLine, shared: DaemonHarness) -> None:
    run_id = finished(shared, run_name="Ä ö: strange? (name)")
    with tempfile.TemporaryDirectory() as folder:
        mosaic(shared, "archive", run_id, "--out", folder)
        (file,) = Path(folder).iterdir()
        assert file.name.endswith(f"{run_id}.mosaic.zip") and " " not in file.name
        out = mosaic(shared, "archive", run_id, "--out", f"{folder}/none/", status=2)
        assert "no folder" in out
        out = mosaic(shared, "archive", run_id, "--out", f"{folder}/no/file.zip", status=2)
        assert "cannot be written" in out
    assert Home(shared.home.root).run(run_id).directory.is_dir()
