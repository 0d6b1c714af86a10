"""A command run to its end as part of a run: what it says becomes reports, what is asked of the
run is passed on to it."""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.process_recording import Place, index_name, pack_place
from mosaic.contracts.run_files import RunFiles
from mosaic.errors import ProgramError
from mosaic.watch.artifacts import ArtifactList
from mosaic.watch.bridge import Bridge, bridge_pipe
from mosaic.watch.command import (
    blinding_option,
    resolve_command,
    script_of,
    search_path,
    working_folder,
)
from mosaic.watch.config import ScriptConfig
from mosaic.watch.recorder import Recorder
from mosaic.watch.script_process import ScriptProcess, StopLadder, failure_of, how_it_ended
from mosaic.watch.variables import (
    has_own_mosaic,
    import_folders,
    script_variables,
    without_our_folders,
)
from mosaic.worker import Run, write_manifest

# -- What people should know about a run: in its journal, its log and its analytics.json

MAX_NOTES = 1_000
_LISTED = 100


class Notes:
    """Each sentence once, however many processes of the script say it."""

    def __init__(self, run: Run[Any]) -> None:
        self._run = run
        self._said: dict[str, None] = {}
        self._kept = 0

    def say(self, text: str) -> bool:
        """False when there were too many already."""
        if text in self._said:
            return True
        if len(self._said) >= MAX_NOTES:
            return False
        self._said[text] = None
        self._run.note(text)
        with contextlib.suppress(OSError, ValueError):  # nobody listens any more
            print(f"mosaic: {text}", file=sys.stderr, flush=True)
        return True

    def keep(self) -> None:
        """With what the run leaves behind, where people find it while it runs, too."""
        listed = list(self._said)[:_LISTED]
        if len(listed) > self._kept:
            self._kept = len(listed)
            write_manifest(self._run, metadata={"remarks": listed})


# -- Where episodes are recorded

MAX_BYTES = 64_000_000  # two million episodes, more where they come in rows


class EpisodeIndex:
    """Where which episode of the run was recorded, appended now and then."""

    def __init__(self, folder: Path, attempt: int, say: Callable[[str], bool]) -> None:
        self.folder = folder
        self._path = folder / index_name(attempt)
        self._say = say
        self._waiting: list[Place] = []
        self._bytes = 0
        self._is_over = False

    def add(self, place: Place) -> None:
        if self._waiting and _follows(place, self._waiting[-1]):
            last = self._waiting[-1]
            self._waiting[-1] = last._replace(episodes=last.episodes + place.episodes)
        else:
            self._waiting.append(place)

    def flush(self) -> None:
        """Never raises: without it, episodes from here on cannot be replayed."""
        waiting, self._waiting = self._waiting, []
        if self._is_over or not waiting:
            return
        data = b"".join(map(pack_place, waiting))
        try:
            if self._bytes + len(data) > MAX_BYTES:
                raise OSError("it has become too large")
            with self._path.open("ab") as file:
                file.write(data)
            self._bytes += len(data)
        except OSError as error:
            self._is_over = True
            reason = error.strerror or error
            self._say(f"episodes from here on cannot be replayed: {self._path.name}: {reason}")


def _follows(place: Place, last: Place) -> bool:
    return place._replace(episodes=last.episodes) == Place(
        last.first_episode + last.episodes,
        last.process,
        last.first_number + last.episodes,
        last.episodes,
    )


# -- The command

_POLL_S = 0.1
_LINES_KEPT = 20
_STDERR = 2

AnyRun = Run[Any]  # of any worker whose work is a command


def describe(script: ScriptConfig) -> dict[str, Any]:
    """What would be executed, or a ConfigError that says why it cannot be."""
    folder = working_folder(script.cwd)
    return {"argv": list(_argv(script, folder)), "cwd": str(folder)}


def watch(run: AnyRun, script: ScriptConfig) -> tuple[int, ProgramError | None]:
    """The command's status as subprocess has it, and the failure if it is one."""
    folder = working_folder(script.cwd)
    argv = _argv(script, folder)
    notes = Notes(run)
    index = _episode_index(run, script, notes)
    recorder = Recorder(run, notes.say, found_at=index.add if index else None)
    artifacts = ArtifactList(run, folder)
    users_folders = without_our_folders(os.environ.get("PYTHONPATH", ""))
    blinded = _blinded_by(script, folder, users_folders)
    if blinded:
        notes.say(f"{blinded}: no episodes, metrics or frames")
    with import_folders(run.directory) as folders, bridge_pipe(run.run_id) as pipe:
        environment = script_variables(
            {**os.environ, "PYTHONPATH": os.pathsep.join(users_folders)},
            script,
            bridge=str(pipe),
            import_folders=() if blinded else folders,
            recordings=str(index.folder) if index else "",
            attempt=run.attempt,
        )

        def tick() -> None:
            recorder.tick()
            notes.keep()
            if index:
                index.flush()

        bridge = Bridge(pipe, recorder.take, tick)
        try:
            # Without a journal our standard output carries the events.
            stdout = _STDERR if run.assignment.journal is None else None
            process = ScriptProcess(argv, folder, environment, stdout)
            try:
                _accompany(run, process, bridge, recorder, artifacts)
            finally:
                status = process.end()
        finally:
            bridge.close()
    recorder.finish()
    if index:
        index.flush()
    _tell_the_rest(run, bridge, recorder, notes)
    artifacts.refresh(recorder.folders, recorder.last_step)
    if run.is_stopping:
        # What it did when it was told to end is no failure.
        run.note(f"the script {how_it_ended(status)} after it was told to stop")
        return status, None
    return status, failure_of(status, script.command, process.last_lines(_LINES_KEPT))


def _episode_index(run: AnyRun, script: ScriptConfig, notes: Notes) -> EpisodeIndex | None:
    """With a folder for what the script's processes record; None: they record nothing."""
    if not script.record_episodes or run.directory is None:
        return None
    folder = RunFiles(run.directory).recordings
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
    except OSError as error:
        notes.say(f"episodes cannot be replayed: {folder.name} cannot be made: {error.strerror}")
        return None
    return EpisodeIndex(folder, run.attempt, notes.say)


def _blinded_by(script: ScriptConfig, folder: Path, users_folders: Sequence[str]) -> str:
    """Why our hooks cannot be used; empty when they can."""
    if option := blinding_option(script.command):
        return f"python {option} does not import our hooks"
    path = script_of(script.command)
    if has_own_mosaic((folder / path).parent if path else folder):
        return "the script has a module mosaic of its own, which is not ours to replace"
    for each in users_folders:
        if has_own_mosaic(folder / each):
            return f"{each} on PYTHONPATH has a module mosaic, which is not ours to replace"
    return ""


def _accompany(
    run: AnyRun,
    process: ScriptProcess,
    bridge: Bridge,
    recorder: Recorder,
    artifacts: ArtifactList,
) -> None:
    """Until the script is over: pass on what is asked of it, look at what it writes."""
    ladder: StopLadder | None = None
    while not process.is_over(_POLL_S):
        if ladder is None and run.control.needs_attention and _has_to_stop(run, process, bridge):
            ladder = StopLadder(time.monotonic())
        if ladder is not None:
            for number in ladder.due(time.monotonic(), run.control.stop_grace_s):
                process.signal(number, signal.SIGCONT)
        else:
            artifacts.refresh_when_due(list(recorder.folders), recorder.last_step)


def _has_to_stop(run: AnyRun, process: ScriptProcess, bridge: Bridge) -> bool:
    """While the run is paused the script stands still, and what it said before waits."""
    if not run.control.is_paused:
        return run.should_stop()
    process.signal(signal.SIGSTOP)
    with bridge.silenced():
        is_stopping = run.should_stop()
    if not is_stopping:  # otherwise it wakes up to the signal that ends it
        process.signal(signal.SIGCONT)
    return is_stopping


def _tell_the_rest(run: AnyRun, bridge: Bridge, recorder: Recorder, notes: Notes) -> None:
    if bridge.garbage:
        notes.say(f"{bridge.garbage} lines on the bridge were no messages and were left out")
    if bridge.ledgers.lost_values or bridge.ledgers.lost_episodes:
        lost = (
            f"{bridge.ledgers.lost_values:,} values and {bridge.ledgers.lost_episodes:,} episodes"
        )
        notes.say(f"{lost} came faster than they could be stored and are missing")
    if recorder.dropped:
        run.note(f"{recorder.dropped} metrics and notes beyond the limit were left out")
    notes.keep()
    if recorder.headlines:
        write_manifest(run, metadata={"headlines": recorder.headlines})


def _argv(script: ScriptConfig, folder: Path) -> tuple[str, ...]:
    path = search_path(os.environ.get("PATH", os.defpath), script.env_python)
    return resolve_command(script.command, folder=folder, path=path, env_python=script.env_python)
