"""What a person or a plan calls a state, and whether an episode went well: questions to a world."""

from __future__ import annotations

import difflib
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from spade_bdi_rl_worker.learning.world import World

_MOST_NAMES = 20_000
_NUMBER = re.compile(r"(?:state\s+)?(\d{1,9})")
_CELL = re.compile(r"row\s*(\d{1,6})\s*,?\s*col(?:umn)?\s*(\d{1,6})")


class Targets:
    """States by their names: "row 2, column 3", "state 6", "6"."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._names: dict[str, int] = {}

    def state_of(self, text: str) -> int:
        """Raises LookupError with a sentence where there is no such state."""
        world, wanted = self._world, _plain(text)
        number = _NUMBER.fullmatch(wanted)
        if number is not None and int(number[1]) < world.n_states:
            return int(number[1])
        cell = _CELL.fullmatch(wanted)
        if cell is not None and world.grid is not None and world.grid.is_one_to_one:
            state = world.grid.state_at(int(cell[1]) - 1, int(cell[2]) - 1)
            if state is not None:
                return state
        self._look()
        if wanted in self._names:
            return self._names[wanted]
        close = difflib.get_close_matches(wanted, self._names, n=2)
        raise LookupError(
            f"{text[:80]!r} is no state of {world.env_id}"
            + (f"; did you mean {' or '.join(map(repr, close))}?" if close else "")
        )

    def _look(self) -> None:
        """States may have been met since."""
        world = self._world
        for state in range(len(self._names), min(world.n_states, _MOST_NAMES)):
            self._names.setdefault(_plain(world.state_name(state)), state)


def _plain(text: str) -> str:
    return " ".join(text.lower().split())


class Success:
    """Whether episodes went well. By what the environment calls solved where it has no table of
    rewards; where there are none but costs, an episode that came to its end did.
    """

    def __init__(self, world: World) -> None:
        self._pays = world.table is None or bool((world.table.rewards > 0).any())
        threshold = getattr(world.env.spec, "reward_threshold", None)
        self._least = 0.0
        if world.table is None and threshold is not None:
            self._least = float(threshold)

    def of(self, returns: Any, terminated: Any) -> Any:
        if not self._pays:
            return terminated
        return returns >= self._least if self._least else returns > 0
