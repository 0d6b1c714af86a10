"""EpisodeFile: the recorded episodes of a process, appended to a file with its ledger's number.

Used by the thread that sends. The file is opened for each write: a script may fork, or close
descriptors it does not know and use their numbers for files of its own.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.process_recording import Packed, pack_episodes, process_file_name
from mosaic.contracts.recording_file import BlockKind, pack_block
from mosaic.injection.packing import Numbered, packed, packed_series
from mosaic.injection.series import Finished

DEFAULT_LIMIT = 1_000_000_000  # of all files of the attempt
_LEVEL = 1  # of zlib: more takes three times as long and saves a tenth
_NOT_AT_ALL = 0  # actions that are larger than rewards are continuous: nothing to compress
_BLOCK_BYTES = 8_000_000
_ONE_REWARD = 8  # bytes
_NOT_STORABLE = (TypeError, ValueError, OverflowError)
_COUNTED_EVERY = 4_000_000  # bytes of ours between two looks at what the others have written


class EpisodeFile:
    def __init__(self, folder: str, attempt: int, limit: int, note: Callable[[str], None]) -> None:
        self._folder, self._attempt, self._limit, self._note = Path(folder), attempt, limit, note
        self._about_us = _where_we_run()
        self._begin(0)

    def _begin(self, process: int) -> None:
        self._process = process
        self._is_made = self._is_over = False
        self._written = 0
        self._total, self._counted_at = 0, -_COUNTED_EVERY

    def write(self, process: int, episodes: Sequence[Finished | Numbered]) -> None:
        """Episodes and their numbers in this process, which after a fork is another one.

        Never raises.
        """
        if process != self._process:
            self._begin(process)
        if self._is_over:
            return
        try:
            block = _Block()
            for each in episodes:
                if isinstance(each, Finished):
                    place = block.place_of(each.environment)
                    block.add(each.numbers, self._packed_series(each, place))
                else:
                    number, recorded = each
                    place = block.place_of(recorded[0])
                    block.add([number], self._packed([each], place))
                if block.size > _BLOCK_BYTES:
                    self._append(block)
                    block = _Block()
            if block.packed:
                self._append(block)
        except Exception as error:  # noqa: BLE001  # the script goes on
            reason = getattr(error, "strerror", None) or str(error)
            self._end(f"its file cannot be written: {reason}")

    def _packed_series(self, episodes: Finished, environment: int) -> list[Packed]:
        with contextlib.suppress(*_NOT_STORABLE):  # which one of them, shows below
            return [packed_series(episodes, environment)]
        return self._packed(episodes.each(), environment)

    def _packed(self, episodes: Iterable[Numbered], environment: int) -> list[Packed]:
        found = []
        for number, recorded in episodes:
            try:
                found.append(packed(recorded, number, environment))
            except _NOT_STORABLE as error:
                name = recorded[0]["env_id"]
                self._note(f"an episode of {name} cannot be replayed: {error}")
        return found

    def _append(self, content: _Block) -> None:
        if self._is_over:
            return
        common = {**self._about_us, "environments": content.environments}
        level = _NOT_AT_ALL if content.is_continuous else _LEVEL
        block = pack_block(
            BlockKind.EPISODES,
            pack_episodes(common, content.packed, level),
            first_episode=content.first,
            episodes=content.last - content.first + 1,
        )
        if self._size_of_all() + len(block) > self._limit:
            self._end(f"it reached its limit of {self._limit / 1e6:.0f} MB")
            return
        self._write(block)

    def _size_of_all(self) -> int:
        if self._written - self._counted_at >= _COUNTED_EVERY:
            self._counted_at = self._written
            self._total = 0
            mine = f"attempt-{self._attempt}."
            with os.scandir(self._folder) as entries:
                for entry in entries:
                    if entry.name.startswith(mine):
                        self._total += entry.stat().st_size
        return self._total + self._written - self._counted_at

    def _write(self, block: bytes) -> None:
        fd = self._open()
        try:
            size = os.fstat(fd).st_size
            view = memoryview(block)
            try:
                while view:
                    view = view[os.write(fd, view) :]
            except OSError:
                os.ftruncate(fd, size)  # room for others, and no torn block
                raise
        finally:
            os.close(fd)
        self._written += len(block)

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC
        if not self._is_made:
            flags |= os.O_CREAT | os.O_EXCL
        fd = os.open(self._folder / process_file_name(self._attempt, self._process), flags, 0o600)
        self._is_made = True
        return fd

    def _end(self, reason: str) -> None:
        self._is_over = True
        self._note(f"episodes from here on cannot be replayed, their recording ended: {reason}")
        try:
            end = zlib.compress(json.dumps({"reason": reason}).encode())
            self._write(pack_block(BlockKind.END, end))
        except OSError:
            pass  # as said


class _Block:
    """Episodes that wait to be written together."""

    def __init__(self) -> None:
        self.environments: list[dict[str, Any]] = []
        self.packed: list[Packed] = []
        self.first, self.last = sys.maxsize, 0  # their numbers
        self.size = 0
        self.is_continuous = False

    def place_of(self, environment: dict[str, Any]) -> int:
        """Most episodes are of one environment, or of many that are alike."""
        try:
            return self.environments.index(environment)
        except ValueError:
            self.environments.append(environment)
            return len(self.environments) - 1

    def add(self, numbers: Sequence[int], packed: Sequence[Packed]) -> None:
        self.first, self.last = min(self.first, numbers[0]), max(self.last, numbers[-1])
        for each in packed:
            self.packed.append(each)
            self.size += sum(map(len, each.parts))
            actions, rewards = each.parts[-2:]
            self.is_continuous |= len(actions) >= len(rewards) > _ONE_REWARD


def _where_we_run() -> dict[str, Any]:
    """Where environments can be made again: this interpreter, with the folder of its script."""
    folder = sys.path[0] if sys.path else ""
    main = getattr(sys.modules.get("__main__"), "__file__", None)
    if main:
        folder = str(Path(main).absolute().parent)
    return {"python": sys.executable or "", "folder": folder}
