"""Recordings: what is needed to replay an episode of a run, from whatever the run has kept."""

from __future__ import annotations

import asyncio
import os
import re
import stat
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from pathlib import Path, PurePosixPath
from typing import Protocol

from mosaic.contracts.consent import consent_error, consent_for_recording, with_package_only
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.contracts.run_config import TrainRunConfig, parse_run_config
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.daemon.bundles.kept_locks import kept_locks
from mosaic.daemon.bundles.needs import missing_error
from mosaic.daemon.launch.command import LaunchCommand, Workers, resolve_command
from mosaic.daemon.launch.venvs import ALL_PRESENT, Venvs, WorkerPaths, in_venvs
from mosaic.daemon.workers.entry import WorkerEntry
from mosaic.errors import ConfigError, CorruptStoreError, MosaicError, RequestError
from mosaic.paths import Home
from mosaic.telemetry.recordings.episodes import RecordedEpisode, read_episode, why_not_recorded
from mosaic.telemetry.recordings.steps import RecordedSteps, recorded_steps

# An answer has to fit into one message.
_MAX_BYTES = 48 * 2**20
_HINT = "`mosaic replay RUN --list` shows its episodes"
_INTERPRETER_NAME = re.compile(r"(python|pypy)[0-9.]*(-[a-z]+)?")

ReadRecord = Callable[[str], Awaitable[RunRecord]]


class LinkedWorkers(Workers, WorkerPaths, Protocol):
    """The part of the worker catalog that is needed here."""


class Recordings:
    """A run may come from elsewhere: nothing it names is executed unless a person has seen it.
    Its environment is made by the worker installed here, in that worker's interpreter, and has to
    be one that is known there. Folders for modules are never among the files of runs.
    """

    def __init__(
        self,
        home: Home,
        workers: LinkedWorkers,
        read_record: ReadRecord,
        venvs: Venvs = ALL_PRESENT,
    ) -> None:
        self._home, self._workers, self._read_record = home, workers, read_record
        self._venvs = venvs

    async def find(
        self, run_id: str, episode_index: int, attempt: int | None = None, consent: str = ""
    ) -> EpisodeRecording:
        """Raises RequestError when the run has no such episode.

        One that cannot be simulated again says why, and names the clips of the run. `consent` is
        the digest of what a person was shown, see contracts/consent.py.
        """
        record = await self._read_record(run_id)
        return await asyncio.to_thread(self._found, record, episode_index, attempt, consent)

    def _found(
        self, record: RunRecord, episode_index: int, attempt: int | None, consent: str
    ) -> EpisodeRecording:
        files = self._home.run(record.run_id)
        gap = ""  # why the recording does not have it
        written = None
        try:
            written = read_episode(files.recordings, episode_index, attempt)
            if written is None:
                gap = why_not_recorded(
                    files.recordings, episode_index, attempt, is_over=record.is_over
                )
        except CorruptStoreError as error:
            gap = error.message
        told = recorded_steps(
            files.telemetry, episode_index, written.attempt if written else attempt
        )
        if written is not None and (not written.problem or told is None or told.problem):
            recording = _of_recording(record, written, told)
        elif told is not None:
            recording = _of_steps(record, told, gap)
        else:
            which = "" if attempt is None else f" in attempt {attempt}"
            raise RequestError(
                f"{record.run_name} has no recorded episode {episode_index}{which}"
                + (f"; {gap}" if gap else ""),
                hint=_HINT,
            )
        return self._placed(replace(recording, clips=_clips(record)), record, consent)

    def _placed(
        self, recording: EpisodeRecording, record: RunRecord, consent: str
    ) -> EpisodeRecording:
        """With the interpreter and the function that recreate the environment."""
        try:
            config = parse_run_config(record.config)
            command = self._placed_command(record, config)
        except MosaicError as error:
            return _impossible(recording, error.message)
        entry = command.entry
        if entry is None or entry.capabilities is None:
            return _impossible(
                recording, f"the worker {record.worker!r} is not installed here; install it"
            )
        if command.missing:
            lacking = missing_error(command.missing)
            return _impossible(recording, f"{lacking.message.rstrip('.')}: {lacking.hint}")
        own_python, own_path = self._place_of(command, entry)
        python, path = command.python, command.path_dirs
        program = next((venv for venv in command.venvs if venv.need.python_field), None)
        if is_interpreter(recording.python):
            # The script's own, which need not be that of its worker.
            python, path = recording.python, (*path, self._workers.sdk_dir)
        elif recording.python and program is not None:
            # Made anew since, or on another machine: the same venv has another place here.
            python, path = program.python, (*path, self._workers.sdk_dir)
            recording = replace(recording, python=python)
        if not self._may_be_run(python):
            # A run of another machine names an interpreter of that machine.
            python, path = own_python, own_path
        folders = (*self._own_path(config), *self._allowed(recording.path))
        recording = replace(
            recording,
            maker=recording.maker or entry.capabilities.replay_maker,
            python=python,
            path=(*path, *folders),
            env_id=recording.env_id or record.env_id,
        )
        if record.origin is Origin.IMPORTED:
            place = (own_python, own_path)
            recording = self._limited_to_consent(recording, place, folders, consent)
        if recording.problem:
            return recording
        if not recording.maker:
            return _impossible(
                recording,
                f"the worker {entry.name!r} does not make its environments again: it names no "
                "replay_maker in its capabilities",
            )
        if not self._may_be_run(recording.python):
            gone = f"the interpreter {recording.python} is gone; create it again"
            return _impossible(recording, gone)
        size = len(recording.actions) + len(recording.start_state)
        size += 9 * len(recording.rewards) + 4 * len(recording.values)
        if size + sum(len(str(action)) for action in recording.actions_json) > _MAX_BYTES:
            return _impossible(recording, "the episode is too long to be sent")
        return recording

    def _limited_to_consent(
        self,
        recording: EpisodeRecording,
        place: tuple[str, tuple[str, ...]],
        folders: tuple[str, ...],
        consent: str,
    ) -> EpisodeRecording:
        """For an imported run: as it is known here, or as the run says if a person saw that."""
        if recording.problem:
            return recording
        options = recording.start.get("options")
        needed = consent_for_recording(
            recording.settings,
            recording.python,
            folders,
            options if isinstance(options, dict) else {"": options},
        )
        if needed is None:
            return replace(
                recording,
                python=place[0],
                path=place[1],
                settings=with_package_only(recording.settings),
            )
        if consent == needed.digest:
            return recording
        problem = consent_error(needed, consent, "Simulating this episode").message
        return replace(_impossible(recording, problem), consent=needed)

    def _placed_command(self, record: RunRecord, config: TrainRunConfig) -> LaunchCommand:
        """In the venvs that the run had, or in those it would have now."""
        command = resolve_command(config, self._workers)
        kept = kept_locks(self._home.run(record.run_id))
        placed = in_venvs(command, config, self._workers, self._venvs, kept)
        if placed.missing and kept:
            current = in_venvs(command, config, self._workers, self._venvs)
            return placed if current.missing else current
        return placed

    def _place_of(self, command: LaunchCommand, entry: WorkerEntry) -> tuple[str, tuple[str, ...]]:
        """The worker's interpreter and path: a worker's own interpreter does not have MOSAIC
        installed; ours does."""
        if command.own_venv is not None:
            return command.python, command.path_dirs
        is_ours = entry.python == self._workers.python
        path = entry.path_dirs if is_ours else (*entry.path_dirs, self._workers.sdk_dir)
        return entry.python, path

    def _may_be_run(self, python: str) -> bool:
        return os.access(python, os.X_OK) and not self._is_of_a_run(python)

    def _own_path(self, config: TrainRunConfig) -> tuple[str, ...]:
        """Where the run itself looked for modules: an environment of its own may be there."""
        return self._allowed(config.environment.get("PYTHONPATH", "").split(os.pathsep))

    def _allowed(self, folders: Iterable[str]) -> tuple[str, ...]:
        return tuple(
            folder
            for folder in folders
            if Path(folder).is_absolute() and not self._is_of_a_run(folder)
        )

    def _is_of_a_run(self, path: str) -> bool:
        return Path(path).resolve().is_relative_to(self._home.root.resolve())


def is_interpreter(python: str) -> bool:
    """By its name, and not a file whose content anybody could have replaced."""
    path = Path(python)
    if not path.is_absolute() or _INTERPRETER_NAME.fullmatch(path.name) is None:
        return False
    try:
        status = path.stat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and not status.st_mode & stat.S_IWOTH


def _of_recording(
    record: RunRecord, written: RecordedEpisode, told: RecordedSteps | None
) -> EpisodeRecording:
    end = written.end
    episode = (
        told.episode
        if told
        else EpisodeSummary(
            run_id=record.run_id,
            agent_id=record.agent_id,
            worker_id=record.worker_id,
            seq=0,
            timestamp=0.0,
            episode_index=written.episode_index,
            total_reward=end.total_reward,
            steps=end.length,
            terminated=end.terminated,
            truncated=end.truncated,
        )
    )
    return EpisodeRecording(
        run_id=record.run_id,
        episode=replace(episode, terminated=end.terminated, truncated=end.truncated),
        attempt=written.attempt,
        env_id=written.env_id,
        maker=written.maker,
        python=written.python,
        path=written.path,
        settings=written.settings,
        start=written.start,
        start_state=written.start_state,
        lead=written.lead,
        action_dtype=written.action_dtype,
        action_shape=written.action_shape,
        actions=written.actions,
        actions_json=written.actions_json,
        rewards=written.rewards,
        values=written.values,
        problem=written.problem or _settings_problem(written.settings),
    )


def _settings_problem(settings: object) -> str:
    return "" if isinstance(settings, dict) else "its recording is damaged"


def _of_steps(record: RunRecord, told: RecordedSteps, gap: str) -> EpisodeRecording:
    return EpisodeRecording(
        run_id=record.run_id,
        episode=told.episode,
        attempt=told.attempt,
        env_id=record.env_id,
        maker="",
        python="",
        settings=_worker_config(record),
        start={"seed": told.episode.episode_seed},
        actions_json=told.actions,
        rewards=told.rewards,
        problem=(gap or told.problem) if told.problem else "",
    )


def _impossible(recording: EpisodeRecording, problem: str) -> EpisodeRecording:
    """Without what cannot be used; an earlier problem comes first."""
    return replace(
        recording,
        problem=recording.problem or problem,
        start_state=b"",
        lead=0,
        actions=b"",
        actions_json=(),
        rewards=(),
        values=(),
    )


def _worker_config(record: RunRecord) -> dict[str, object]:
    try:
        return dict(parse_run_config(record.config).worker.config)
    except ConfigError:
        return {}


def _clips(record: RunRecord) -> tuple[str, ...]:
    """Those within the folder of the run."""
    videos = record.manifest.get("videos", ())
    names = [PurePosixPath(str(video)) for video in videos] if isinstance(videos, list) else []
    return tuple(str(name) for name in names if not name.is_absolute() and ".." not in name.parts)
