"""The trace of a run's agents, read as it grows and followed when its file is replaced.

A worker moves a file that has become too large aside, over the one before, and begins another.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mosaic.analytics.agents.lines import (
    MOST_BYTES,
    JsonLines,
    Problems,
    file_named,
    limits,
    parsed,
)
from mosaic.analytics.growing_records import ByteBudget
from mosaic.contracts.agents import TraceLine, trace_line
from mosaic.contracts.manifest import AgentsArtifact
from mosaic.errors import StoreError

LONGEST_LINE = 2**20
_MOST_RESTARTS = 3  # of one look: files that change all the time wait for the next


@dataclass(frozen=True)
class TraceRead:
    """What has come since the last look."""

    lines: tuple[TraceLine, ...] = ()
    problems: tuple[str, ...] = ()  # sentences
    has_more: bool = False


class AgentsTraceReader:
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
        newest = file_named(folder, manifest.trace_path, "trace_path", may_leave=may_leave)
        older = file_named(
            folder, manifest.older_trace_path, "older_trace_path", may_leave=may_leave
        )
        bounds = limits(most_bytes, LONGEST_LINE)
        self._newest = None if newest is None else JsonLines(newest, **bounds)
        self._older = None if older is None else JsonLines(older, **bounds)
        self._most_bytes = most_bytes
        self._problems = Problems("no lines of a trace")
        self._is_older_first = True

    def read(self) -> TraceRead:
        found: list[TraceLine] = []
        budget = ByteBudget(self._most_bytes)
        has_more, restarts = True, 0
        try:
            while has_more and restarts <= _MOST_RESTARTS and budget.has_room():
                has_more, is_restarted = self._read_some(found, budget)
                restarts += is_restarted
        except StoreError as error:
            self._problems.fail(error)
            has_more = False
        return TraceRead(tuple(found), self._problems.take(), has_more)

    def _read_some(self, found: list[TraceLine], budget: ByteBudget) -> tuple[bool, bool]:
        """Whether there is more to read, and whether a file was another one than before."""
        older, newest = self._older, self._newest
        if older is not None and self._is_older_first:
            has_more, is_restarted = self._take(older, found, budget)
            if has_more:
                return True, is_restarted
        if newest is None:
            return False, False
        position = newest.position
        has_more, is_restarted = self._take(newest, found, budget)
        if position.offset and not is_restarted and not newest.path.exists():
            newest.restart()  # nothing was written since it was moved aside
            has_more = is_restarted = True
        if is_restarted and older is not None:
            older.go_to(position)  # what was read in part lies there now
        # One that nothing was read of may be moved aside without anybody noticing.
        self._is_older_first = is_restarted or newest.offset == 0
        return has_more, is_restarted

    def _take(
        self, lines: JsonLines, found: list[TraceLine], budget: ByteBudget
    ) -> tuple[bool, bool]:
        start = lines.offset
        batch = lines.next_batch()
        budget.use(max(0, lines.offset - start))
        for problem in batch.problems:
            self._problems.add(str(problem))
        for data, _ in parsed(lines, batch.records, self._problems):
            line = trace_line(data)
            if line is not None:
                found.append(line)
        return batch.has_more, batch.is_restarted
