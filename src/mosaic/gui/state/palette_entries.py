"""Everything the command palette can find, as the state has it now. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic.front.run_words import state_word
from mosaic.gui.state.palette_search import Kind, PaletteItem
from mosaic.gui.state.workbench_state import WorkbenchState


def entries(state: WorkbenchState, commands: Iterable[PaletteItem]) -> list[PaletteItem]:
    """Commands, then runs (the newest first), then what can be chosen for a new one."""
    runs = (
        PaletteItem(
            Kind.RUN,
            record.run_id,
            record.run_name,
            record.env_id,
            state_word(record),
            searched=f"{record.run_id} {record.group}",
        )
        for record in state.runs.newest_first()
    )
    algorithms = (
        PaletteItem(Kind.ALGORITHM, item.name, item.name, item.summary, "algorithm")
        for item in state.algorithms
        if item.is_available
    )
    environments = (
        PaletteItem(Kind.ENVIRONMENT, item.id, item.id, item.family, "environment")
        for item in state.environments
    )
    return [*commands, *runs, *algorithms, *environments]
