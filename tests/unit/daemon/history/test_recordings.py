"""Where a recording comes from, and what makes its environment again."""

from __future__ import annotations

import random
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.recording_file import EpisodeEnd, recording_name
from mosaic.contracts.replay import EpisodeRecording
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.daemon.history.recordings import Recordings, is_interpreter
from mosaic.daemon.workers.entry import WorkerEntry
from mosaic.errors import RequestError, UnknownWorkerError
from mosaic.paths import Home
from mosaic.worker.recording import RecordingFacts, RecordingWriter
from tests import journal_lines as lines
from tests.daemon_harness import run_document
from tests.unit.telemetry.curve_samples import stored
from tests.unit.telemetry.recordings.test_steps import steps_of

MAKER = "worker.replay:make"


@dataclass
class Workers:
    entry: WorkerEntry | None
    python: str = sys.executable
    sdk_dir: str = "/sdk"

    def find(self, name: str) -> WorkerEntry | None:
        return self.entry

    def resolve(self, name: str) -> WorkerEntry:
        if self.entry is None:
            raise UnknownWorkerError(f"There is no worker {name!r}")
        return self.entry

    def path_of(self, entry: WorkerEntry) -> str:
        return f"/links/{entry.name}"


def worker(**changes: Any) -> WorkerEntry:
    capabilities = WorkerCapabilities("baseline", replay_maker=MAKER)
    entry = WorkerEntry("baseline", "worker.cli", sys.executable, capabilities=capabilities)
    return replace(entry, **changes)


def record_of(**changes: Any) -> RunRecord:
    record = RunRecord(
        run_id=lines.RUN_ID,
        run_name="test",
        worker="baseline",
        state=RunState.TERM,
        outcome=None,
        attempt=1,
        priority=0,
        created_at=0.0,
        updated_at=0.0,
        env_id="CartPole-v1",
        config=run_document(),
        manifest={"videos": ["videos/clip-0001.mp4"]},
    )
    return replace(record, **changes)


def folder_with(root: Path, *written: bytes) -> Path:
    """A home with one run."""
    files = Home(root).run(lines.RUN_ID)
    files.directory.mkdir(parents=True)
    stored(files.directory, [*written])
    return root


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return folder_with(tmp_path, lines.registered(), *steps_of(0, 3, 1))


async def found(
    folder: Path, record: RunRecord, entry: WorkerEntry | None, **wanted: Any
) -> EpisodeRecording:
    async def read_record(run_id: str) -> RunRecord:
        return record

    recordings = Recordings(Home(folder), Workers(entry), read_record)
    return await recordings.find(record.run_id, **{"episode_index": 0, **wanted})


async def test_steps_seed_settings_and_maker_make_a_recording(folder: Path) -> None:
    recording = await found(folder, record_of(), worker(path_dirs=("/its/folder",)))
    assert recording.problem == ""
    assert (recording.maker, recording.python) == (MAKER, sys.executable)
    assert recording.start == {"seed": 40} and recording.rewards == (0.25, 1.25, 2.25)
    assert recording.settings == run_document()["metadata"]["worker"]["config"]
    assert recording.path == ("/its/folder",) and recording.env_id == "CartPole-v1"
    assert recording.clips == ("videos/clip-0001.mp4",)


async def test_another_interpreter_finds_mosaic_and_what_the_run_found(folder: Path) -> None:
    document = run_document(environment={"PYTHONPATH": "/my/environments::/more"})
    recording = await found(folder, record_of(config=document), worker(python="/bin/true"))
    assert recording.path == ("/sdk", "/my/environments", "/more")


async def test_an_interpreter_that_is_gone_is_replaced_by_the_workers_own(folder: Path) -> None:
    document = run_document()
    document["metadata"]["worker"]["module"] = "worker.cli"
    document["entry_point"] = "/gone/python"
    recording = await found(folder, record_of(config=document), worker())
    assert recording.python == sys.executable and recording.problem == ""


async def test_nothing_that_a_run_says_is_executed(folder: Path) -> None:
    """It may come out of an archive that somebody sent."""
    inside = str(folder / "var" / "evil")
    document = run_document(environment={"PYTHONPATH": f"relative:{inside}:/my/environments"})
    record = record_of(
        config=document,
        capabilities={"replay_maker": "os:system"},
        manifest={"videos": ["/etc/passwd", "videos/../../x", "videos/good.mp4"]},
    )
    recording = await found(folder, record, worker())
    # Ours comes first: there may be another `mosaic` among its modules.
    assert recording.maker == MAKER and recording.path == ("/sdk", "/my/environments")
    assert recording.clips == ("videos/good.mp4",)


@pytest.mark.parametrize(
    ("record", "entry", "words"),
    [
        (record_of(), None, "no worker 'baseline'"),
        (
            record_of(),
            worker(capabilities=WorkerCapabilities("baseline")),
            "does not make its environments again",
        ),
        (record_of(), worker(python="/gone/python"), "/gone/python is gone"),
        (record_of(config={}), worker(), "Invalid TrainRunConfig"),
    ],
)
async def test_what_cannot_be_simulated_says_why_and_names_the_clips(
    folder: Path, record: RunRecord, entry: WorkerEntry | None, words: str
) -> None:
    recording = await found(folder, record, entry)
    assert words in recording.problem and recording.rewards == ()
    assert recording.clips == ("videos/clip-0001.mp4",)
    assert recording.episode.steps == 3


async def test_steps_that_were_not_recorded_come_before_all_other_problems(
    tmp_path: Path,
) -> None:
    folder = folder_with(tmp_path, lines.registered(), lines.episode(1))
    recording = await found(folder, record_of(), None)
    assert "single steps were not recorded" in recording.problem


async def test_an_episode_that_nobody_knows_is_refused(folder: Path) -> None:
    with pytest.raises(RequestError, match="no recorded episode 8"):
        await found(folder, record_of(), worker(), episode_index=8)
    with pytest.raises(RequestError, match="no recorded episode 0 in attempt 4"):
        await found(folder, record_of(), worker(), attempt=4)


async def test_a_strange_manifest_has_no_clips(folder: Path) -> None:
    recording = await found(folder, record_of(manifest={"videos": 5}), worker())
    assert recording.clips == () and recording.problem == ""


async def test_a_recording_that_ended_says_why_there_is_no_more(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, lines.registered(), lines.episode(1))
    path = Home(folder).run(lines.RUN_ID).recordings / recording_name(1)
    facts = RecordingFacts("CartPole-v1", {}, 1, "|u1", (), 1)
    writer = RecordingWriter(path, facts, limit_bytes=5000)
    writer.write_steps(0, 2000, random.Random(1).randbytes(2000), bytes(8000), 0, ())
    recording = await found(folder, record_of(), worker())
    assert "its recording ended before: it reached its limit" in recording.problem


async def test_an_episode_that_has_only_just_ended_may_not_be_written_yet(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, lines.registered(), lines.episode(1))
    Home(folder).run(lines.RUN_ID).recordings.mkdir()
    recording = await found(folder, record_of(state=RunState.EXEC), worker())
    assert "not written yet" in recording.problem
    recording = await found(folder, record_of(), worker())
    assert "not written yet" not in recording.problem


async def test_a_damaged_recording_is_named(tmp_path: Path) -> None:
    folder = folder_with(tmp_path, lines.registered(), lines.episode(1))
    path = Home(folder).run(lines.RUN_ID).recordings / recording_name(1)
    writer = RecordingWriter(path, RecordingFacts("E-v0", {}, 1, "|u1", (), 1), 10**6)
    end = EpisodeEnd(0, 0, 1, 1, 1.0, True, False)
    writer.write_steps(0, 1, b"1", bytes(4), 0, [end])  # without the keyframe it starts from
    writer.close()
    recording = await found(folder, record_of(), worker())
    assert "holds no state before step 0" in recording.problem
    with pytest.raises(RequestError, match="no recorded episode 4"):
        await found(folder, record_of(), worker(), episode_index=4)


# Imported runs


def hostile_config() -> dict[str, Any]:
    document = run_document(
        environment={"PYTHONPATH": "/my/environments"}, config={"env_id": "this:CartPole-v1"}
    )
    document["metadata"]["worker"]["module"] = "worker.cli"
    document["entry_point"] = "/bin/true"
    return document


async def test_an_imported_run_has_the_workers_own_interpreter_and_no_folder(folder: Path) -> None:
    document = {**hostile_config(), "metadata": run_document()["metadata"]}
    document["metadata"]["worker"]["module"] = "worker.cli"
    record = record_of(config=document, origin=Origin.IMPORTED)
    recording = await found(folder, record, worker(path_dirs=("/its/folder",)))
    assert (recording.problem, recording.consent) == ("", None)
    assert (recording.python, recording.path) == (sys.executable, ("/its/folder",))
    own = await found(folder, replace(record, origin=Origin.HERE), worker())
    assert own.python == "/bin/true" and "/my/environments" in own.path


async def test_what_an_imported_run_would_import_needs_a_consent(folder: Path) -> None:
    record = record_of(config=hostile_config(), origin=Origin.IMPORTED)
    recording = await found(folder, record, worker())
    needed = recording.consent
    assert needed is not None and recording.actions_json == () and recording.problem
    assert needed.lines[:2] == ("interpreter: /bin/true", "folder: /my/environments")
    other = await found(folder, record, worker(), consent="0" * 64)
    assert other.consent == needed and "changed" in other.problem
    granted = await found(folder, record, worker(), consent=needed.digest)
    assert (granted.consent, granted.problem, granted.python) == (None, "", "/bin/true")
    assert "/my/environments" in granted.path and granted.rewards


@pytest.mark.parametrize(
    ("name", "mode", "is_good"),
    [
        ("python", 0o755, True),
        ("python3.12", 0o755, True),
        ("pypy3", 0o755, True),
        ("pyevil", 0o755, False),
        ("python.sh", 0o755, False),
        ("python3", 0o757, False),
    ],
)
def test_an_interpreter_is_known_by_its_name_and_by_who_may_change_it(
    tmp_path: Path, name: str, mode: int, is_good: bool
) -> None:
    python = tmp_path / name
    python.write_text("#!/bin/sh\n")
    python.chmod(mode)
    assert is_interpreter(str(python)) is is_good
    assert not is_interpreter(name) and not is_interpreter(str(tmp_path))
