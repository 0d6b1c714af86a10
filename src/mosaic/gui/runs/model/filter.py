"""RunsFilter: which runs the table shows, by words such as `state:failed`, or by a pattern."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.runs.model.settings import KnownSettings

KEYS = ("name", "env", "worker", "state", "group", "id", "tag", "note")
# What people type, besides the words that are shown.
_STATE_WORDS = {"done": "succeeded", "finished": "succeeded", "cancelled": "canceled"}

# Whether a pattern is found in a text.
Search = Callable[[str], bool]


@dataclass(frozen=True)
class RunsFilter:
    """All words must be found; those with a key in that field, the others anywhere."""

    words: tuple[str, ...] = ()
    keyed: tuple[tuple[str, str], ...] = ()
    pattern: str = ""  # takes the place of the words

    @classmethod
    def parse(cls, text: str, *, is_pattern: bool = False) -> RunsFilter:
        """`/…/` is a regular expression whatever `is_pattern` says."""
        stripped = text.strip()
        if len(stripped) > 2 and stripped[0] == stripped[-1] == "/":
            return cls(pattern=stripped[1:-1])
        if is_pattern:
            return cls(pattern=stripped)
        words, keyed = [], []
        for word in stripped.lower().split():
            key, colon, value = word.partition(":")
            if colon and key in KEYS:
                # A key whose value is yet to be typed hides nothing.
                if value:
                    keyed.append((key, value))
            else:
                words.append(word)
        return cls(tuple(words), tuple(keyed))

    @property
    def is_empty(self) -> bool:
        return not (self.words or self.keyed or self.pattern)

    def matches(
        self, record: RunRecord, haystack: str, state: str, search: Search | None = None
    ) -> bool:
        """`haystack_of` the record and its `state_word`, which are worth being kept.

        `search` is that of the pattern; None while it cannot be used: then it hides nothing.
        """
        if self.pattern:
            return search is None or search(f"{haystack}\n{state}")
        if not all(_is_in(word, haystack, state) for word in self.words):
            return False
        return all(_has(record, state, key, value) for key, value in self.keyed)


def haystack_of(record: RunRecord, settings: KnownSettings | None = None) -> str:
    """Everything but the state, which changes too often to be kept."""
    parts = (
        *(record.run_name, record.env_id, record.worker, record.group, record.run_id),
        *record.tags,
        record.note,
        settings.searched(record.run_id) if settings else "",
    )
    return "\n".join(filter(None, parts)).lower()


def _has(record: RunRecord, state: str, key: str, value: str) -> bool:
    match key:
        case "name":
            return value in record.run_name.lower()
        case "env":
            return value in record.env_id.lower()
        case "worker":
            return value in record.worker.lower()
        case "group":
            return value in record.group.lower()
        case "id":
            return value in record.run_id.lower()
        case "tag":
            return any(value in tag.lower() for tag in record.tags)
        case "note":
            return value in record.note.lower()
    return _is_state(value, state)


def _is_in(word: str, haystack: str, state: str) -> bool:
    if word in haystack or _is_state(word, state):
        return True
    return ":" in word and word.replace(":", "=", 1) in haystack  # learning_rate:0.001


def _is_state(word: str, state: str) -> bool:
    return state.startswith(_STATE_WORDS.get(word, word))
