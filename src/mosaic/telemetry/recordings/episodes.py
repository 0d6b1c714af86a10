"""Recorded episodes of a run: which there are, and all that is needed to simulate one again.

A learner records in sessions (see `sessions`); the processes of a script record theirs one by one,
found by their numbers in the run.
"""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from mosaic.contracts.process_recording import (
    ParsedEpisode,
    Place,
    index_name,
    index_of,
    parse_episodes,
    parse_numbers,
    parse_places,
    process_file_of,
)
from mosaic.contracts.recording_file import BlockKind, EpisodeEnd
from mosaic.errors import CorruptStoreError
from mosaic.foreign.files import read_regular
from mosaic.telemetry.recordings.blocks import Block, read_object, read_payload, scan_blocks
from mosaic.telemetry.recordings.sessions import RecordingSession, SlotSteps, open_sessions

# No answer has room for more, and nobody would wait for such a long replay.
MAX_STEPS = 5_000_000
TOO_LONG = f"it is longer than {MAX_STEPS:,} steps, which is too long to be replayed"


@dataclass(frozen=True)
class RecordedEpisode:
    """The part of an EpisodeRecording (contracts/replay.py) that a recording knows."""

    episode_index: int
    attempt: int
    end: EpisodeEnd
    env_id: str
    settings: dict[str, Any]
    action_dtype: str
    action_shape: tuple[int, ...]
    start: dict[str, Any] = field(default_factory=dict)
    start_state: bytes = b""
    lead: int = 0
    actions: bytes = b""
    actions_json: tuple[Any, ...] = ()
    rewards: tuple[float, ...] = ()  # those of the lead included
    values: tuple[float, ...] = ()  # see EpisodeRecording
    problem: str = ""
    # Where it was not recorded by its worker: who makes the environment again, and where.
    maker: str = ""
    python: str = ""
    path: tuple[str, ...] = ()


# Of core, and not of the worker that had the script watched: the recording is core's too.
MAKER = "mosaic.injection.replay:make_environment"
MAX_INDEX_BYTES = 64 * 2**20  # a row for each of two million episodes that all stand alone


class ProcessRecordings:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[int, dict[int, Path]] = defaultdict(dict)  # by attempt and process
        self._indexed: set[int] = set()  # attempts
        for path in folder.glob("*"):
            found = process_file_of(path)
            if found is not None:
                self._files[found[0]][found[1]] = path
            indexed = index_of(path)
            if indexed is not None:
                self._indexed.add(indexed)

    def numbers(self, attempt: int | None = None) -> Iterator[int]:
        """Of the run's episodes, as far as they are recorded and sound."""
        for number, files in self._files.items():
            if attempt not in (None, number):
                continue
            recorded = {process: _numbers_in(path) for process, path in files.items()}
            for place in self._places(number):
                known = recorded.get(place.process, [])
                first = bisect_left(known, place.first_number)
                last = bisect_left(known, place.first_number + place.episodes)
                for found in known[first:last]:
                    yield place.first_episode + found - place.first_number

    def read(self, episode_index: int, attempt: int | None = None) -> RecordedEpisode | None:
        """Of the newest attempt that has it; raises CorruptStoreError where it is damaged."""
        for number in sorted(self._files, reverse=True):
            if attempt not in (None, number):
                continue
            for place in reversed(self._places(number)):
                offset = episode_index - place.first_episode
                path = self._files[number].get(place.process)
                if 0 <= offset < place.episodes and path is not None:
                    found = _found(path, place.first_number + offset)
                    if found is not None:
                        return _checked_episode(path, episode_index, number, *found)
        return None

    def was_promised(self, episode_index: int, attempt: int | None = None) -> bool:
        """Whether a process said that it had recorded this episode: then it should be there."""
        return any(
            0 <= episode_index - place.first_episode < place.episodes
            for number in self._indexed
            if attempt in (None, number)
            for place in self._places(number)
        )

    @cached_property
    def why_ended(self) -> str:
        """What a process of the newest attempt says about an early end."""
        for path in self._files[max(self._files)].values() if self._files else ():
            for block in scan_blocks(path).blocks:
                if block.header.kind == BlockKind.END:
                    return str(read_object(block).get("reason", ""))
        return ""

    def _places(self, attempt: int) -> list[Place]:
        try:
            data = read_regular(self._folder / index_name(attempt), MAX_INDEX_BYTES)
        except FileNotFoundError:
            return []
        except OSError as error:
            raise CorruptStoreError(
                f"{index_name(attempt)} cannot be read: {error.strerror}",
                hint="the episodes of this attempt cannot be found without it",
            ) from error
        return list(parse_places(data))


def _blocks(path: Path) -> list[Block]:
    return [block for block in scan_blocks(path).blocks if block.header.kind == BlockKind.EPISODES]


def _numbers_in(path: Path) -> list[int]:
    """In ascending order."""
    numbers: set[int] = set()
    for block in _blocks(path):
        try:
            numbers.update(parse_numbers(read_payload(block)))
        except (CorruptStoreError, ValueError):
            continue  # whoever asks for one of these hears of it
    return sorted(numbers)


def _found(path: Path, number: int) -> tuple[dict[str, Any], ParsedEpisode] | None:
    for block in _blocks(path):
        header = block.header
        if header.first_episode <= number < header.first_episode + header.episodes:
            common, episodes = _content(block)
            for each in episodes:
                if each.facts.get("number") == number:
                    return common, each
    return None


def _content(block: Block) -> tuple[dict[str, Any], list[ParsedEpisode]]:
    try:
        return parse_episodes(read_payload(block))
    except ValueError as error:
        raise block.damaged(str(error)) from error


def _checked_episode(
    path: Path, episode_index: int, attempt: int, common: dict[str, Any], packed: ParsedEpisode
) -> RecordedEpisode:
    try:
        return _process_episode(episode_index, attempt, common, packed)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise CorruptStoreError(
            f"{path.name} does not say how episode {episode_index} was made: {error!r}",
            hint="other episodes of this run can still be replayed",
            path=str(path),
        ) from error


def _process_episode(
    episode_index: int, attempt: int, common: dict[str, Any], packed: ParsedEpisode
) -> RecordedEpisode:
    facts = packed.facts
    rewards = array("d", packed.rewards)
    if sys.byteorder == "big":
        rewards.byteswap()
    steps = len(rewards)
    is_too_long = steps > MAX_STEPS
    environment = common["environments"][facts["environment"]]
    start = dict(facts["start"])
    if "was" in facts:
        start["was"] = facts["was"]
    folder = str(common.get("folder", ""))
    return RecordedEpisode(
        episode_index=episode_index,
        attempt=attempt,
        end=EpisodeEnd(
            slot=0,
            first_step=0,
            end_step=steps,
            length=steps,
            total_reward=sum(rewards),
            terminated=bool(facts["terminated"]),
            truncated=bool(facts["truncated"]),
        ),
        env_id=str(environment["env_id"]),
        settings=environment,
        action_dtype=str(facts.get("dtype", "")),
        action_shape=tuple(facts.get("shape", ())),
        start=start,
        actions=b"" if is_too_long else packed.actions,
        actions_json=tuple(facts.get("actions", ())),
        rewards=() if is_too_long else tuple(rewards),
        problem=TOO_LONG if is_too_long else "",
        maker=MAKER,
        python=str(common.get("python", "")),
        path=(folder,) if folder else (),
    )


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
                values = tuple(session.values_of(episode_index))
                return _episode(session, episode_index, end, taken, start=start, values=values)
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
    taken = SlotSteps(
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
    return _episode(session, episode_index, end, SlotSteps(b"", array("d")), problem=problem)


def _episode(
    session: RecordingSession,
    episode_index: int,
    end: EpisodeEnd,
    taken: SlotSteps,
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
