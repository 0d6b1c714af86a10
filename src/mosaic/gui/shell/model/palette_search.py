"""What the command palette offers, and which of it fits what is typed. Pure, and fast."""

from __future__ import annotations

import heapq
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

from mosaic.front.run_words import state_word
from mosaic.gui.state.workbench_state import WorkbenchState

LIMIT = 50
_NOTHING = 0.0
_SEPARATORS = re.compile(r"[^a-z0-9]+")
# A few characters, found one after the other somewhere in a long text, say little.
_SHORTEST_SCATTERED = 2


class PaletteKind(StrEnum):
    COMMAND = "command"
    RUN = "run"
    ENVIRONMENT = "environment"
    ALGORITHM = "algorithm"


# What cannot be done now stands behind what can, when both fit alike.
_IMPOSSIBLE = -20.0
# What is looked for most often stands first when everything else is equal.
_BIAS = {
    PaletteKind.COMMAND: 12.0,
    PaletteKind.RUN: 4.0,
    PaletteKind.ALGORITHM: 3.0,
    PaletteKind.ENVIRONMENT: 0.0,
}


@dataclass(frozen=True)
class PaletteItem:
    kind: PaletteKind
    key: str  # id of the command, run, environment or algorithm
    title: str
    detail: str = ""
    hint: str = ""  # at the right: a shortcut, a state
    searched: str = field(default="", compare=False)  # what else it is found by
    problem: str = ""  # why it cannot be chosen now
    text: str = field(init=False, repr=False, compare=False)

    @property
    def refusal(self) -> str:
        """What is said to somebody who chooses it all the same."""
        return f"{self.title.rstrip('…')}: {self.problem}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "text", words_of(f"{self.title} {self.detail} {self.searched}"))


def words_of(text: str) -> str:
    """In lower case, with one blank between two words: "cartpole v1" of "CartPole-v1"."""
    return _SEPARATORS.sub(" ", text.lower()).strip()


def search(query: str, items: Sequence[PaletteItem], limit: int = LIMIT) -> list[PaletteItem]:
    """The best first; without a query, those that come first."""
    words = words_of(query).split()
    if not words:
        return list(items[:limit])
    scored = (
        (score, -place, item)
        for place, item in enumerate(items)
        if (score := _score(words, item)) > _NOTHING
    )
    best = heapq.nlargest(limit, scored, key=lambda entry: entry[:2])
    return [item for _, _, item in best]


def _score(words: list[str], item: PaletteItem) -> float:
    total = _BIAS[item.kind] + (_IMPOSSIBLE if item.problem else 0.0)
    for word in words:
        fit = word_score(word, item.text)
        if fit <= _NOTHING:
            return _NOTHING
        total += fit
    # Of two that fit alike, the shorter title is meant.
    return total + 10.0 / (10.0 + len(item.title))


def word_score(word: str, text: str) -> float:
    """How well a word fits a text as `words_of` gives it; 0 when it does not."""
    place = text.find(word)
    if place >= 0:
        if place == 0:
            return 100.0
        starts = text.find(f" {word}")
        return 90.0 - min(starts, 40) / 4 if starts >= 0 else 60.0 - min(place, 40) / 4
    if len(word) < _SHORTEST_SCATTERED:
        return _NOTHING
    return _scattered_score(word, text)


def _scattered_score(word: str, text: str) -> float:
    """Its letters in their order, the first one at the beginning of a word.

    Better the closer they are together, and the more words they begin.
    """
    first = 0 if text.startswith(word[0]) else text.find(f" {word[0]}") + 1
    if first == 0 and not text.startswith(word[0]):
        return _NOTHING
    last, starts = first, 1
    for letter in word[1:]:
        found = text.find(letter, last + 1)
        if found < 0:
            return _NOTHING
        starts += text[found - 1] == " "
        last = found
    gaps = (last - first + 1) - len(word)
    return max(1.0, 40.0 - 2.0 * gaps + 6.0 * starts)


def palette_items(state: WorkbenchState, commands: Iterable[PaletteItem]) -> list[PaletteItem]:
    """Commands, then runs (the newest first), then what can be chosen for a new one.

    Commands that are not possible now stand behind those that are.
    """
    runs = (
        PaletteItem(
            PaletteKind.RUN,
            record.run_id,
            record.run_name,
            record.env_id,
            state_word(record),
            searched=f"{record.run_id} {record.group}",
        )
        for record in state.runs.newest_first()
    )
    algorithms = (
        PaletteItem(PaletteKind.ALGORITHM, item.name, item.name, item.summary, "algorithm")
        for item in state.algorithms
        if item.is_available
    )
    environments = (
        PaletteItem(PaletteKind.ENVIRONMENT, item.id, item.id, item.family, "environment")
        for item in state.environments
    )
    ordered = sorted(commands, key=lambda item: bool(item.problem))
    return [*ordered, *runs, *algorithms, *environments]
