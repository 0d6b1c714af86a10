"""The columns of the table: what they are called, which are shown, in which order, and how wide.

Those of `Column` are always there, at these numbers. Behind them come settings of the configs that
a person wants to see, such as `learning_rate`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import IntEnum

from mosaic.contracts.metrics import MEAN_RETURN_NAME


class Column(IntEnum):
    COLOUR = 0
    STATE = 1
    NAME = 2
    ENVIRONMENT = 3
    PROGRESS = 4
    ELAPSED = 5
    REMAINING = 6
    RETURN = 7
    SPEED = 8
    EPISODES = 9
    STARTED = 10
    ACTIONS = 11
    PICTURE = 12
    TAGS = 13
    NOTE = 14
    SPACE = 15  # what is left over on a wide screen


TITLES = {
    Column.COLOUR: "",
    Column.STATE: "State",
    Column.NAME: "Run",
    Column.ENVIRONMENT: "Environment",
    Column.PROGRESS: "Progress",
    Column.ELAPSED: "Elapsed",
    Column.REMAINING: "Left",
    Column.RETURN: "Return",
    Column.SPEED: "Speed",
    Column.EPISODES: "Episodes",
    Column.STARTED: "Submitted",
    Column.ACTIONS: "",
    Column.PICTURE: "Picture",
    Column.TAGS: "Tags",
    Column.NOTE: "Note",
    Column.SPACE: "",
}
HELP = {
    Column.ELAPSED: "Since it started, pauses included",
    Column.REMAINING: "How long it still takes at its present speed",
    Column.RETURN: (
        f"Return: {MEAN_RETURN_NAME}.\n"
        "Of a group: the mean of its runs' returns ± their standard deviation"
    ),
    Column.SPEED: (
        "Environment steps a second: over about the last ten seconds while it runs,"
        " overall when it is over"
    ),
    Column.EPISODES: "Finished training episodes",
    Column.PICTURE: "The last picture that this run left behind",
}
NUMBERS = frozenset(
    {
        *(Column.ELAPSED, Column.REMAINING, Column.RETURN, Column.SPEED),
        *(Column.EPISODES, Column.STARTED),
    }
)
# These change all the time while a run is live.
LIVE = frozenset(
    {
        *(Column.PROGRESS, Column.ELAPSED, Column.REMAINING, Column.RETURN),
        *(Column.SPEED, Column.EPISODES),
    }
)
UNSORTED = frozenset({Column.COLOUR, Column.ACTIONS, Column.PICTURE, Column.SPACE})
# Without these it would be no table of runs.
ALWAYS = frozenset({Column.COLOUR, Column.NAME, Column.ACTIONS, Column.SPACE})
# As wide as what is drawn in them; the others are widened by hand.
FIXED = frozenset({Column.COLOUR, Column.ACTIONS, Column.PICTURE, Column.SPACE})
# From the left; the last two stay at the right end.
USUAL = (
    *(Column.COLOUR, Column.PICTURE, Column.STATE, Column.NAME, Column.TAGS, Column.ENVIRONMENT),
    *(Column.PROGRESS, Column.ELAPSED, Column.REMAINING, Column.RETURN, Column.SPEED),
    *(Column.EPISODES, Column.STARTED, Column.NOTE),
)
_ENDING = (Column.ACTIONS, Column.SPACE)
_HIDDEN_AT_FIRST = frozenset({Column.PICTURE})
MOST_SETTINGS = 20
_LEAST_WIDTH, _MOST_WIDTH = 36, 1200  # by hand
_LONGEST_STORED = 20_000


@dataclass(frozen=True)
class ColumnChoice:
    """What a person made of the columns: numbers below `len(Column)`, then `settings` in turn."""

    settings: tuple[str, ...] = ()
    order: tuple[int, ...] = USUAL
    hidden: frozenset[int] = _HIDDEN_AT_FIRST
    widths: Mapping[int, int] = field(default_factory=dict)  # of those widened by hand

    @property
    def count(self) -> int:
        return len(Column) + len(self.settings)

    @property
    def visual_order(self) -> tuple[int, ...]:
        """Every column once; what is new here stands at the end of what is known."""
        known = [
            number
            for number in dict.fromkeys(self.order)
            if 0 <= number < self.count and number not in _ENDING
        ]
        missing = [*USUAL, *range(len(Column), self.count)]
        return (*known, *(number for number in missing if number not in known), *_ENDING)

    def is_shown(self, number: int) -> bool:
        return number in ALWAYS or number not in self.hidden

    def title(self, number: int) -> str:
        if number < len(Column):
            return TITLES[Column(number)]
        return self.settings[number - len(Column)]

    def setting(self, number: int) -> str | None:
        """None for a column that is none."""
        place = number - len(Column)
        return self.settings[place] if 0 <= place < len(self.settings) else None

    def toggled(self, number: int) -> ColumnChoice:
        if number in ALWAYS:
            return self
        return replace(self, hidden=self.hidden ^ {number})

    def with_setting(self, name: str) -> ColumnChoice:
        if name in self.settings or len(self.settings) == MOST_SETTINGS:
            return self
        number = self.count
        order = list(self.visual_order[: -len(_ENDING)])
        # Before what tells when, not behind it: settings are compared with results.
        place = order.index(Column.ELAPSED) if Column.ELAPSED in order else len(order)
        order.insert(place, number)
        return replace(
            self,
            settings=(*self.settings, name),
            order=tuple(order),
            hidden=self.hidden - {number},
        )

    def without_setting(self, name: str) -> ColumnChoice:
        if name not in self.settings:
            return self
        gone = len(Column) + self.settings.index(name)

        def moved(numbers: Iterable[int]) -> list[int]:
            return [number - (number > gone) for number in numbers if number != gone]

        widened = [number for number in self.widths if number != gone]
        return ColumnChoice(
            tuple(known for known in self.settings if known != name),
            tuple(moved(self.order)),
            frozenset(moved(self.hidden)),
            dict(zip(moved(widened), (self.widths[number] for number in widened), strict=True)),
        )

    def reordered(self, order: Sequence[int]) -> ColumnChoice:
        return replace(self, order=tuple(order))

    def widened(self, number: int, width: int) -> ColumnChoice:
        """By hand: it keeps this width, and those nobody has touched share what is left."""
        if number in FIXED or not 0 <= number < self.count:
            return self
        kept = min(_MOST_WIDTH, max(_LEAST_WIDTH, width))
        return replace(self, widths={**self.widths, number: kept})

    # As it is remembered: by name, so that a newer version may number them otherwise

    def to_text(self) -> str:
        names = [self._key(number) for number in self.visual_order]
        hidden = [self._key(number) for number in sorted(self.hidden)]
        widths = {self._key(number): width for number, width in sorted(self.widths.items())}
        kept = {"order": names, "hidden": hidden, "settings": self.settings, "widths": widths}
        return json.dumps(kept)

    @classmethod
    def from_text(cls, text: str) -> ColumnChoice:
        """Whatever makes no sense is as usual."""
        try:
            stored = json.loads(text) if len(text) <= _LONGEST_STORED else {}
            settings = tuple(
                dict.fromkeys(str(name)[:100] for name in stored.get("settings", ()) if name)
            )[:MOST_SETTINGS]
            numbers = {column.name.lower(): int(column) for column in Column}
            numbers |= {f"={name}": len(Column) + at for at, name in enumerate(settings)}
            order = tuple(numbers[key] for key in stored["order"] if key in numbers)
            hidden = frozenset(numbers[key] for key in stored["hidden"] if key in numbers)
            choice = cls(settings, order, hidden)
            for key, width in stored.get("widths", {}).items():
                choice = choice.widened(numbers.get(key, -1), int(width))
        except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
            return cls()
        return choice

    def _key(self, number: int) -> str:
        name = self.setting(number)
        return Column(number).name.lower() if name is None else f"={name}"


_WIDTHS = {
    Column.COLOUR: 26,
    Column.STATE: 104,
    Column.NAME: 176,
    Column.ENVIRONMENT: 124,
    Column.PROGRESS: 120,
    Column.ELAPSED: 78,
    Column.REMAINING: 78,
    Column.RETURN: 78,
    Column.SPEED: 78,
    Column.EPISODES: 78,
    Column.STARTED: 96,
    Column.ACTIONS: 92,
    Column.PICTURE: 76,
    Column.TAGS: 84,
    Column.NOTE: 84,
    Column.SPACE: 0,
}
_SETTING_WIDTH = 88
_LEAST_NAME = 80
# As wide as their content, but no wider than this.
_MOST = {
    Column.NAME: 520,
    Column.ENVIRONMENT: 240,
    Column.PROGRESS: 160,
    Column.RETURN: 140,
    Column.TAGS: 320,
    Column.NOTE: 520,
}
_MOST_OF_SETTING = 200
# So much of it is worth more than another column.
_BEFORE_OTHERS = {Column.NAME: 250, Column.RETURN: 140, Column.TAGS: 120}
_ROOMY_NAME = 300  # so wide a name may be where there is room to spare
# The first goes first when there is too little room; what is not listed stays.
_GIVING_WAY = (
    *(Column.NOTE, Column.EPISODES, Column.ENVIRONMENT, Column.STARTED, Column.REMAINING),
    *(Column.TAGS, Column.SPEED, Column.PICTURE, Column.ELAPSED, Column.RETURN),
)
# These stay, and are narrower where there is too little room for them.
_SHRINKING = (
    (Column.PROGRESS, _WIDTHS[Column.PROGRESS]),
    (Column.STATE, _WIDTHS[Column.STATE]),
    (Column.NAME, _LEAST_NAME),
)
# Who gets room first, up to what their content needs.
_GROWING = (
    *(Column.NAME, Column.RETURN, Column.TAGS, Column.ENVIRONMENT, Column.PROGRESS, Column.NOTE),
)


def column_widths(
    room: int, choice: ColumnChoice | None = None, content: Mapping[int, int] | None = None
) -> dict[int, int]:
    """Without those that there is no room for; together they fill it.

    `content`: how wide the widest text of a column is, 0 where it has none: tags and notes are
    shown where there are any.
    """
    chosen, needs = choice or ColumnChoice(), content or {}
    by_hand = chosen.widths
    settings = range(len(Column), chosen.count)
    shown: dict[int, int] = {
        column: max(_WIDTHS[column], min(needs.get(column, 0), _BEFORE_OTHERS.get(column, 0)))
        for column in Column
        if chosen.is_shown(column)
        and (column not in (Column.TAGS, Column.NOTE) or needs.get(column))
    }
    shown |= {number: _SETTING_WIDTH for number in settings if chosen.is_shown(number)}
    shown |= {number: width for number, width in by_hand.items() if number in shown}
    # Settings are there because somebody asked for them: they give way after everything else,
    # and last of all what somebody has widened.
    giving_way = sorted((*_GIVING_WAY, *reversed(settings)), key=by_hand.__contains__)
    for number in giving_way:
        if sum(shown.values()) <= room:
            break
        shown.pop(number, None)
    left = room - sum(shown.values())
    if left < 0:
        for column, least in _SHRINKING:
            before = shown.get(column, 0)
            if before > least:
                shown[column] = max(least, before + left)
                left += before - shown[column]
        return shown
    for number in (*_GROWING, *settings):
        if number in shown and number not in by_hand:
            most = _MOST_OF_SETTING if number in settings else _MOST[Column(number)]
            wanted = min(most, needs.get(number, 0)) - shown[number]
            grown = max(0, min(left, wanted))
            shown[number] += grown
            left -= grown
    is_growing = Column.NAME not in by_hand
    spare = max(0, min(left, _ROOMY_NAME - shown[Column.NAME])) if is_growing else 0
    shown[Column.NAME] += spare
    shown[Column.SPACE] = left - spare
    return shown


def natural_width(number: int, content: Mapping[int, int]) -> int:
    """What a column needs by itself: its content, where that has a length."""
    usual = _WIDTHS[Column(number)] if number < len(Column) else _SETTING_WIDTH
    return content.get(number) or usual
