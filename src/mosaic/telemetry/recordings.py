"""Recorded episodes of a run: which there are, and all that is needed to simulate one again."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.recording_file import EpisodeEnd
from mosaic.telemetry.process_recordings import ProcessRecordings
from mosaic.telemetry.recorded_episode import MAX_STEPS, TOO_LONG, RecordedEpisode
from mosaic.telemetry.recording_sessions import RecordingSession, Taken, open_sessions


class RunRecordings:
    """All recordings of a run as they are now; for whoever reads more than one episode."""

    def __init__(self, folder: Path) -> None:
        self._sessions = open_sessions(folder)  # newest first
        self._processes = ProcessRecordings(folder)

    def numbers(self, attempt: int | None = None) -> list[int]:
        """Of all episodes, in ascending order."""
        found: set[int] = set(self._processes.numbers(attempt))
        for session in self._sessions:
            if attempt in (None, session.attempt):
                found.update(session.episode_numbers())
        return sorted(found)

    def read(self, episode_index: int, attempt: int | None = None) -> RecordedEpisode | None:
        """One episode; of the newest attempt that has it, unless another is named.

        None when it is not in the recordings. Raises CorruptStoreError when what is needed for it
        is damaged.
        """
        for position, session in enumerate(self._sessions):
            if attempt not in (None, session.attempt):
                continue
            whole = session.find_whole(episode_index)
            if whole is not None:
                end, start, taken = whole
                if len(taken.rewards) > MAX_STEPS:
                    return _without_steps(session, episode_index, end, TOO_LONG)
                return _episode(session, episode_index, end, taken, start=start)
            found = session.find_end(episode_index)
            if found is not None:
                return _from_keyframe(self._sessions[position:], episode_index, found)
        return self._processes.read(episode_index, attempt)

    def was_promised(self, episode_index: int, attempt: int | None = None) -> bool:
        return self._processes.was_promised(episode_index, attempt)

    @property
    def why_ended(self) -> str:
        """What the newest one says about its end; empty when it ended with its run."""
        return self._sessions[0].why_ended if self._sessions else self._processes.why_ended


def recorded_episodes(folder: Path, attempt: int | None = None) -> list[int]:
    return RunRecordings(folder).numbers(attempt)


def read_episode(
    folder: Path, episode_index: int, attempt: int | None = None
) -> RecordedEpisode | None:
    """See `RunRecordings.read`."""
    return RunRecordings(folder).read(episode_index, attempt)


def why_not_recorded(
    folder: Path, episode_index: int, attempt: int | None = None, *, is_over: bool
) -> str:
    """For an episode that is not there; empty when nobody knows. `is_over`: the run is."""
    recordings = RunRecordings(folder)
    if recordings.why_ended:
        return f"its recording ended before: {recordings.why_ended}"
    if not is_over and folder.is_dir():
        # Recordings are written about once a second.
        return "its recording is not written yet, as the run is going on; ask again soon"
    if recordings.was_promised(episode_index, attempt):
        return "its recording is lost: its process was killed before it could write it"
    return ""


def _from_keyframe(
    sessions: Sequence[RecordingSession], episode_index: int, end: EpisodeEnd
) -> RecordedEpisode:
    """`sessions`: the one in which it ended, and all before it."""
    session = sessions[0]
    pieces = _pieces(sessions, end)
    if pieces is None:
        return _without_steps(
            session,
            episode_index,
            end,
            "it began before this recording, in another run or in one that did not record",
        )
    first, start, _ = pieces[0]
    step, state = first.keyframe(end.slot, start)
    pieces[0] = (first, step, pieces[0][2])
    if sum(stop - begin for _, begin, stop in pieces) > MAX_STEPS:
        return _without_steps(session, episode_index, end, TOO_LONG)
    parts = [piece.take(end.slot, begin, stop) for piece, begin, stop in pieces]
    taken = Taken(
        b"".join(part.actions for part in parts),
        sum((p.rewards for p in parts[1:]), parts[0].rewards),
    )
    return _episode(
        session,
        episode_index,
        end,
        taken,
        start={"slot": end.slot, "step": step, "exactness": session.facts["exactness"]},
        start_state=state,
        lead=start - step,
    )


Piece = tuple[RecordingSession, int, int]  # first step and the one after the last


def _pieces(sessions: Sequence[RecordingSession], end: EpisodeEnd) -> list[Piece] | None:
    """Where the steps of an episode are; those before a resume are in an earlier recording.

    None when its beginning is nowhere.
    """
    session = sessions[0]
    if not end.began_before:
        return [(session, end.first_step, end.end_step)]
    pieces: list[Piece] = [(session, session.steps_range.start, end.end_step)]
    for earlier in sessions[1:]:
        resumed_at = pieces[0][1]
        covered = earlier.steps_range
        if not covered or covered.start == resumed_at:
            continue  # it did nothing, or started from the same checkpoint
        if not covered.start < resumed_at <= covered.stop or not _is_alike(earlier, session):
            return None
        before = earlier.last_end(end.slot, resumed_at)
        if before is None and earlier.facts["is_resumed"]:
            pieces.insert(0, (earlier, covered.start, resumed_at))
            continue
        begin = covered.start if before is None else before.end_step
        if begin == resumed_at:
            return pieces
        return [(earlier, begin, resumed_at), *pieces]
    return None


def _is_alike(one: RecordingSession, other: RecordingSession) -> bool:
    names = ("env_id", "settings", "slots", "action_dtype", "reward_dtype")
    return all(one.facts[name] == other.facts[name] for name in names)


def _without_steps(
    session: RecordingSession, episode_index: int, end: EpisodeEnd, problem: str
) -> RecordedEpisode:
    return _episode(session, episode_index, end, Taken(b"", array("d")), problem=problem)


def _episode(
    session: RecordingSession,
    episode_index: int,
    end: EpisodeEnd,
    taken: Taken,
    **more: Any,
) -> RecordedEpisode:
    facts = session.facts
    return RecordedEpisode(
        episode_index=episode_index,
        attempt=session.attempt,
        end=end,
        env_id=facts["env_id"],
        settings=facts["settings"],
        action_dtype=facts["action_dtype"],
        action_shape=tuple(facts["action_shape"]),
        actions=taken.actions,
        rewards=tuple(taken.rewards),
        **more,
    )
