"""EpisodeFile: the recorded episodes of a process, appended to a file with its ledger's number.

Used by the thread that sends. The file is opened for each write: a script may fork, or close
descriptors it does not know and use their numbers for files of its own.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import zlib
from array import array
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.episode_series import WORD_BYTES, pcg64_state, rows_of, short_column
from mosaic.contracts.process_recording import Packed, pack_episodes, process_file_name
from mosaic.contracts.recording_file import BlockKind, pack_block
from mosaic.injection.tape import UNEVEN, Finished, Recorded, packed_state, state_columns

# -- Episodes from a tape as they are stored: facts as JSON, actions and rewards as bytes

_JSON = {True: "true", False: "false"}
Numbered = tuple[int, Recorded]


def packed_series(episodes: Finished, environment: int) -> Packed:
    """`environment` is its place in the table of the block.

    Raises TypeError, ValueError or OverflowError where one of them cannot be stored.
    """
    was, dtype, data = _numbers(episodes.actions)
    states = state_columns(episodes.rows, episodes.row_bytes, episodes.start_bytes)
    columns = [short_column(column, WORD_BYTES) for column in states]
    columns += (
        _lengths(episodes.lengths),
        short_column(episodes.terminated, 1),
        short_column(episodes.truncated, 1),
        data,
        _rewards(episodes.rewards),
    )
    series = f'"series":{{"numbers":{rows_of(episodes.numbers)}}}'
    facts = f'{{"environment":{environment},{series},{_form_text(was, dtype)}}}'
    return Packed(facts, columns)


def _lengths(lengths: list[int]) -> bytes:
    try:
        return bytes(lengths)
    except ValueError:  # beyond a byte
        return _bytes("I", lengths)


def _rewards(rewards: list[Any]) -> bytes:
    """One of them, where all are equal: as in many environments, and told apart in no time."""
    first = rewards[0]
    # A zero may have another sign than the others.
    if type(first) is float and first == rewards[-1] != 0 and rewards.count(first) == len(rewards):
        return _bytes("d", rewards[:1])
    return _bytes("d", rewards)


def packed(recorded: Recorded, number: int, environment: int) -> Packed:
    """One episode; arguments and errors are those of `packed_series`."""
    _, start, form, actions, rewards, terminated, truncated = recorded
    if form is None:
        was, dtype, data = _numbers(actions)
        count = len(actions)
        shown = _form_text(was, dtype)
    elif "json" in form:
        data, count = b"", len(actions)
        shown = f'"actions":{json.dumps(plain(actions))}'
    else:
        data = bytes(actions)
        size = int(form["dtype"][2:]) * math.prod(form["shape"])
        count = len(data) // size if size and len(data) % size == 0 else -1
        shown = f'"dtype":"{form["dtype"]}","shape":{form["shape"]}'
    if count != len(rewards):
        raise ValueError(UNEVEN)
    beginning = start
    if isinstance(start, bytes):
        beginning = {"random_state": pcg64_state(packed_state(start))}
    start_text = json.dumps(plain(beginning))
    facts = (
        f'{{"number":{number},"environment":{environment},"start":{start_text},'
        f'"terminated":{_JSON[bool(terminated)]},"truncated":{_JSON[bool(truncated)]},{shown}}}'
    )
    return Packed(facts, (data, _bytes("d", rewards)))


def plain(value: Any) -> Any:
    """What JSON can say, of dictionaries, lists, arrays and numbers. Raises TypeError."""
    if value is None or type(value) in (str, bool, int, float):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    raise TypeError(f"{type(value).__name__} is not JSON")


def _form_text(was: str, dtype: str) -> str:
    return f'"was":"{was}","dtype":"{dtype}","shape":[]'


def _numbers(actions: list[Any]) -> tuple[str, str, bytes]:
    """What they were for the script, the type in which they are kept, and their bytes."""
    first = actions[0]
    dtype = getattr(first, "dtype", None)
    was: str = type(first).__name__ if dtype is None else dtype.str
    if isinstance(first, float) or "f" in was[:2]:
        return was, "<f8", _bytes("d", actions)
    try:
        return was, "|u1", bytes(actions)
    except ValueError:  # beyond a byte
        return was, "<i8", _bytes("q", actions)


def _bytes(code: str, numbers: list[Any]) -> bytes:
    values = array(code, numbers)
    if sys.byteorder == "big":
        values.byteswap()
    return values.tobytes()


# -- The file

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

    def write(self, process: int, episodes: Iterable[Finished | Numbered]) -> None:
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
            view = memoryview(block)
            try:
                while view:
                    view = view[os.write(fd, view) :]
            except OSError:
                # Room for others, and no torn block. Nobody else appends to this file.
                os.ftruncate(fd, os.fstat(fd).st_size - (len(block) - len(view)))
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
