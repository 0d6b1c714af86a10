"""Which colour a run has, wherever it is shown."""

from __future__ import annotations

from collections.abc import Iterable

# Okabe and Ito's colours, which people with any kind of colour vision can tell apart.
CURVES = ("#e69f00", "#56b4e9", "#009e73", "#cc79a7", "#d55e00", "#0072b2", "#f0e442", "#999999")


class RunColours:
    """A run keeps its colour as long as it is shown; a new one takes the first that is free."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    def show(self, run_ids: Iterable[str]) -> None:
        """These runs are shown from now on, and no others."""
        wanted = list(run_ids)
        kept = {run: self._places[run] for run in wanted if run in self._places}
        taken = set(kept.values())
        free = (place for place in range(len(wanted)) if place not in taken)
        for run in wanted:
            if run not in kept:
                kept[run] = next(free)
        self._places = kept

    def of(self, run_id: str) -> str | None:
        """None for a run that is not shown."""
        place = self._places.get(run_id)
        return None if place is None else CURVES[place % len(CURVES)]
