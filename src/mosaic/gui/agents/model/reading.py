"""Which runs have agents, and how what these have written is read."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

from mosaic.analytics.agents.trace import AgentsTraceReader
from mosaic.analytics.agents.values import AgentsValuesReader, ValuesRead
from mosaic.contracts.agents import MapLine, ValuesLine
from mosaic.contracts.run_record import RunRecord
from mosaic.front.references import local_run
from mosaic.gui.agents.model.mind import MOST_AGENTS, Minds, MindView
from mosaic.gui.tabs.model import object_in

_MOST_PROBLEMS = 3


def has_agents(record: RunRecord) -> bool:
    """There is something of them, or may be yet."""
    said = object_in(record.manifest, "agents")
    if said.get("trace_path") or said.get("values_path"):
        return True
    return bool(object_in(record.capabilities, "agents")) and not record.is_over


@dataclass(frozen=True)
class AgentsRead:
    minds: tuple[MindView, ...] = ()
    map: MapLine | None = None
    snapshots: tuple[ValuesLine, ...] = ()
    problems: tuple[str, ...] = ()
    has_more: bool = False

    @property
    def is_empty(self) -> bool:
        return not self.minds and self.map is None


class AgentsReader:
    """The files of one run; each `read` adds what was written since. Blocks: for a thread."""

    def __init__(self, record: RunRecord) -> None:
        self._record = record
        self._trace: AgentsTraceReader | None = None
        self._values: AgentsValuesReader | None = None
        self._minds = Minds()
        self._problems: deque[str] = deque(maxlen=_MOST_PROBLEMS)

    def read(self) -> AgentsRead:
        if self._trace is None or self._values is None:
            # Its manifest may name no files yet.
            run = local_run(self._record)
            said, may_leave = run.manifest.agents, run.may_leave
            if self._trace is None and said.trace_path:
                self._trace = AgentsTraceReader(run.directory, said, may_leave=may_leave)
            if self._values is None and said.values_path:
                self._values = AgentsValuesReader(run.directory, said, may_leave=may_leave)
        has_more = False
        if self._trace is not None:
            trace = self._trace.read()
            self._minds.apply(trace.lines)
            self._problems.extend(trace.problems)
            has_more = trace.has_more
        values = ValuesRead() if self._values is None else self._values.read()
        self._problems.extend(values.problems)
        problems = tuple(self._problems)
        if self._minds.has_too_many:
            problems = (*problems, f"Only the first {MOST_AGENTS} agents are shown")
        return AgentsRead(
            self._minds.views(),
            values.map,
            values.snapshots,
            problems,
            has_more or values.has_more,
        )
