"""What the tables of a run's agents are worth over a map, read as the file grows."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from mosaic.analytics.agents.lines import (
    MOST_BYTES,
    JsonLines,
    Problems,
    file_named,
    limits,
    parsed,
)
from mosaic.analytics.growing_records import ByteBudget, OpenFile
from mosaic.contracts.agents import MapLine, ValuesLine, map_line
from mosaic.contracts.manifest import AgentsArtifact
from mosaic.errors import StoreError

LONGEST_LINE = 4 * 2**20
MOST_SNAPSHOTS = 400
# Of all snapshots together: as many numbers are kept in memory.
MOST_NUMBERS = 1_000_000


@dataclass(frozen=True)
class ValuesRead:
    """All that is known so far. Of a state that has no entry nothing is known."""

    map: MapLine | None = None
    # In the order of their steps; what is known of a state is a value for each action of the map.
    snapshots: tuple[ValuesLine, ...] = ()
    problems: tuple[str, ...] = ()  # sentences, since the last look
    has_more: bool = False


class AgentsValuesReader:
    """`folder` is the run's. Raises CorruptStoreError where the manifest leads out of it and may
    not; afterwards what cannot be read is one of the problems.
    """

    def __init__(
        self,
        folder: Path,
        manifest: AgentsArtifact,
        *,
        may_leave: bool,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """`most_bytes`: of one look, about."""
        path = file_named(folder, manifest.values_path, "values_path", may_leave=may_leave)
        bounds = limits(most_bytes, LONGEST_LINE)
        self._lines = None if path is None else _ReplacedLines(path, **bounds)
        self._most_bytes = most_bytes
        self._problems = Problems("neither a map nor values")
        self._map: MapLine | None = None
        self._snapshots = _Snapshots()
        self._shown = ValuesRead()
        self._is_anew = False

    def read(self) -> ValuesRead:
        has_more = False
        if self._lines is not None:
            try:
                has_more = self._read(self._lines)
            except StoreError as error:
                self._problems.fail(error)
        if not (self._is_anew and has_more):
            self._is_anew = False
            self._shown = ValuesRead(self._map, self._snapshots.all)
        return replace(self._shown, problems=self._problems.take(), has_more=has_more)

    def _read(self, lines: JsonLines) -> bool:
        budget = ByteBudget(self._most_bytes)
        has_more, is_restarted = True, False
        while has_more and budget.has_room():
            start = lines.offset
            batch = lines.next_batch()
            has_more = batch.has_more
            if batch.is_restarted:
                if is_restarted:
                    return True  # it changes all the time: at the next look
                # What was known is shown until the new file is read.
                is_restarted = self._is_anew = True
                self._map, self._snapshots = None, _Snapshots()
            budget.use(max(0, lines.offset - start))
            for problem in batch.problems:
                self._problems.add(str(problem))
            for data, at in parsed(lines, batch.records, self._problems):
                self._add(lines, data, at)
        return has_more

    def _add(self, lines: JsonLines, data: Any, at: int) -> None:
        line = map_line(data)
        if isinstance(line, ValuesLine) and _fits(line, self._map):
            self._snapshots.add(line)
        elif not isinstance(line, MapLine):
            if data["kind"] in ("map", "values"):
                self._problems.count(lines.path, at)
        else:
            # One that knows more states is of the same tables; else there are new ones.
            if self._map is not None and _shape(self._map) != _shape(line):
                self._snapshots = _Snapshots()
            self._map = line


class _ReplacedLines(JsonLines):
    """A file that is replaced as a whole may begin as the one before did, and go on likewise."""

    _inode = -1

    def _is_continued_by(self, file: OpenFile) -> bool:
        inode, before = os.fstat(file.fd).st_ino, self._inode
        self._inode = inode
        return before in (-1, inode) and super()._is_continued_by(file)


class _Snapshots:
    """In the order of their steps, thinned evenly where they would become too many."""

    def __init__(self) -> None:
        self._kept: list[tuple[int, ValuesLine]] = []  # with how many came before
        self._numbers = 0
        self._count = 0
        self._every = 1

    @property
    def all(self) -> tuple[ValuesLine, ...]:
        return tuple(line for _, line in self._kept)

    def add(self, line: ValuesLine) -> None:
        while self._kept and self._kept[-1][1].step >= line.step:
            self._drop(-1)
        if len(self._kept) > 1 and self._kept[-1][0] % self._every:
            self._drop(-1)  # it was there for being the newest
        self._kept.append((self._count, line))
        self._count += 1
        self._numbers += _numbers(line)
        while len(self._kept) > MOST_SNAPSHOTS or self._numbers > MOST_NUMBERS:
            if len(self._kept) <= 2:
                return
            self._every *= 2
            newest = self._kept[-1][0]
            self._kept = [
                (place, line)
                for place, line in self._kept
                if place in (self._kept[0][0], newest) or place % self._every == 0
            ]
            self._numbers = sum(_numbers(line) for _, line in self._kept)

    def _drop(self, place: int) -> None:
        self._numbers -= _numbers(self._kept.pop(place)[1])


def _numbers(line: ValuesLine) -> int:
    return len(line.values) + sum(len(row) for row in line.values if row)


def _fits(line: ValuesLine, found: MapLine | None) -> bool:
    """Whether it has a value for every action of the map."""
    return found is not None and all(
        row is None or len(row) == len(found.actions) for row in line.values
    )


def _shape(found: MapLine) -> tuple[Any, ...]:
    return found.rows, found.columns, found.cells, found.actions
