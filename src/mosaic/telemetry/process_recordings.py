"""Episodes that the processes of a script recorded, found by their numbers in the run."""

from __future__ import annotations

import sys
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator
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
from mosaic.foreign_files import read_regular
from mosaic.telemetry.recorded_episode import MAX_STEPS, TOO_LONG, RecordedEpisode
from mosaic.telemetry.recording_scan import Block, read_object, read_payload, scan_blocks

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
        return _episode(episode_index, attempt, common, packed)
    except (ValueError, TypeError, LookupError, AttributeError) as error:
        raise CorruptStoreError(
            f"{path.name} does not say how episode {episode_index} was made: {error!r}",
            hint="other episodes of this run can still be replayed",
            path=str(path),
        ) from error


def _episode(
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
