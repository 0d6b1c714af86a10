"""Episodes that the processes of a script recorded, found by their numbers in the run."""

from __future__ import annotations

import json
import sys
import zlib
from array import array
from collections import defaultdict
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path
from typing import Any

from mosaic.contracts.process_recording import (
    ParsedEpisode,
    Place,
    index_name,
    parse_episodes,
    parse_places,
    process_file_of,
)
from mosaic.contracts.recording_file import BlockKind, EpisodeEnd
from mosaic.errors import CorruptStoreError
from mosaic.telemetry.recorded_episode import RecordedEpisode
from mosaic.telemetry.recording_scan import Block, read_payload, scan_blocks

# Of core, and not of the worker that had the script watched: the recording is core's too.
MAKER = "mosaic.watch.replay:make_environment"


class ProcessRecordings:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[int, dict[int, Path]] = defaultdict(dict)  # by attempt and process
        for path in folder.glob("*"):
            found = process_file_of(path)
            if found is not None:
                self._files[found[0]][found[1]] = path

    def numbers(self, attempt: int | None = None) -> Iterator[int]:
        """Of the run's episodes, as far as they are recorded and sound."""
        for number, files in self._files.items():
            if attempt not in (None, number):
                continue
            recorded = {process: _numbers_in(path) for process, path in files.items()}
            for place in self._places(number):
                for step in range(place.episodes):
                    if place.first_number + step in recorded.get(place.process, ()):
                        yield place.first_episode + step

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
                        return _episode(episode_index, number, *found)
        return None

    @cached_property
    def why_ended(self) -> str:
        """What a process of the newest attempt says about an early end."""
        for path in self._files[max(self._files)].values() if self._files else ():
            for block in scan_blocks(path).blocks:
                if block.header.kind == BlockKind.END:
                    return str(json.loads(zlib.decompress(read_payload(block)))["reason"])
        return ""

    def _places(self, attempt: int) -> list[Place]:
        try:
            return list(parse_places((self._folder / index_name(attempt)).read_bytes()))
        except FileNotFoundError:
            return []


def _blocks(path: Path) -> list[Block]:
    return [block for block in scan_blocks(path).blocks if block.header.kind == BlockKind.EPISODES]


def _numbers_in(path: Path) -> set[int]:
    numbers: set[int] = set()
    for block in _blocks(path):
        try:
            numbers.update(each.facts["number"] for each in _content(block)[1])
        except CorruptStoreError:
            continue  # whoever asks for one of these hears of it
    return numbers


def _found(path: Path, number: int) -> tuple[dict[str, Any], ParsedEpisode] | None:
    for block in _blocks(path):
        header = block.header
        if header.first_episode <= number < header.first_episode + header.episodes:
            common, episodes = _content(block)
            for each in episodes:
                if each.facts["number"] == number:
                    return common, each
    return None


def _content(block: Block) -> tuple[dict[str, Any], list[ParsedEpisode]]:
    try:
        return parse_episodes(read_payload(block))
    except ValueError as error:
        raise block.damaged() from error


def _episode(
    episode_index: int, attempt: int, common: dict[str, Any], packed: ParsedEpisode
) -> RecordedEpisode:
    facts = packed.facts
    rewards = array("d", packed.rewards)
    if sys.byteorder == "big":
        rewards.byteswap()
    steps = len(rewards)
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
        actions=packed.actions,
        actions_json=tuple(facts.get("actions", ())),
        rewards=tuple(rewards),
        maker=MAKER,
        python=str(common.get("python", "")),
        path=(folder,) if folder else (),
    )
