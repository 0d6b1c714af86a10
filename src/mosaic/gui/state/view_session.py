"""ViewSession: the selected runs and the open page, brought back with the next window."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mosaic.gui.state.targets import Page, ReplayTarget
from mosaic.gui.state.workbench_state import WorkbenchState

_MOST_RUNS = 200


class ViewSession:
    def __init__(self, state: WorkbenchState, saved: Mapping[str, Any]) -> None:
        self._state = state
        # Until the list of runs is here nothing is known to be another.
        self._saved: Mapping[str, Any] | None = dict(saved)
        state.runs_listed.connect(self._on_runs_listed)

    def values(self) -> dict[str, Any]:
        if self._saved is not None:
            return dict(self._saved)
        state = self._state
        replay = state.replay
        return {
            "selection": list(state.selection[:_MOST_RUNS]),
            "page": state.page.value,
            "replay": None if replay is None else [replay.run_id, replay.episode],
            "compared": list(state.compared[:_MOST_RUNS]),
        }

    def _on_runs_listed(self) -> None:
        saved, self._saved = self._saved, None
        if saved and not self._state.selection:
            self._restore(saved)

    def _restore(self, saved: Mapping[str, Any]) -> None:
        """Runs that are gone are left out; without any, the window opens as it does at first."""
        state = self._state
        selection = self._known(saved.get("selection"))
        if not selection:
            return
        state.select(selection)
        replay = _replay(saved.get("replay"))
        compared = self._known(saved.get("compared"))
        match saved.get("page"):
            case Page.REPLAY.value if replay is not None and replay.run_id in state.runs:
                state.show_replay(replay)
            case Page.COMPARE.value if compared:
                state.compare(compared)
            case Page.WELCOME.value:
                pass
            case _:  # also for a game, which is over
                state.show_page(Page.LIVE)

    def _known(self, run_ids: Any) -> list[str]:
        found = run_ids if isinstance(run_ids, list) else []
        return [item for item in found if isinstance(item, str) and item in self._state.runs]


def _replay(found: Any) -> ReplayTarget | None:
    match found:
        case [str(run_id), None]:
            return ReplayTarget(run_id)
        case [str(run_id), int(episode)] if episode >= 0:
            return ReplayTarget(run_id, episode)
        case _:
            return None
