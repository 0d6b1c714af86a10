"""WatchedExample: shows the first episode of a run as soon as the run is over."""

from __future__ import annotations

from mosaic.contracts.run_state import Outcome
from mosaic.gui.state.targets import Page, ReplayTarget
from mosaic.gui.state.workbench_state import WorkbenchState


class WatchedExample:
    """Only while nobody has turned to something else in the meantime."""

    def __init__(self, state: WorkbenchState) -> None:
        self._state = state
        self._run_id = ""
        state.runs.changed.connect(self._on_runs_changed)

    def follow(self, run_id: str) -> None:
        self._run_id = run_id
        self._look()

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if self._run_id in changed:
            self._look()

    def _look(self) -> None:
        record = self._state.runs.get(self._run_id)
        if record is None or not record.is_over:
            return
        run_id, self._run_id = self._run_id, ""
        is_watched = self._state.leading_id == run_id and self._state.page is Page.LIVE
        if is_watched and record.outcome is Outcome.SUCCEEDED:
            self._state.show_replay(ReplayTarget(run_id, 0))
