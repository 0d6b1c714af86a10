"""Which runs a person wants to see: words, and words with a key such as `state:failed`."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.state.run_rows import readable_name

KEYS = ("name", "env", "worker", "state", "group", "id")
# What people say, beside the words that are shown.
_STATE_WORDS = {"done": "succeeded", "finished": "succeeded", "cancelled": "canceled"}


@dataclass(frozen=True)
class RunsFilter:
    """All words must be found; those with a key in that field, the others anywhere."""

    words: tuple[str, ...] = ()
    keyed: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, text: str) -> RunsFilter:
        words, keyed = [], []
        for word in text.lower().split():
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
        return not (self.words or self.keyed)

    def matches(self, record: RunRecord, haystack: str, state: str) -> bool:
        """`haystack_of` the record and its `state_word`, which are worth being kept."""
        for word in self.words:
            if word not in haystack and not _is_state(word, state):
                return False
        return all(_has(record, state, key, value) for key, value in self.keyed)


def haystack_of(record: RunRecord) -> str:
    """Everything but the state, which changes too often to be kept."""
    shown = readable_name(record.run_name, record.env_id)
    parts = (record.run_name, shown, record.env_id, record.worker, record.group, record.run_id)
    return "\n".join(parts).lower()


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
    return _is_state(value, state)


def _is_state(word: str, state: str) -> bool:
    return state.startswith(_STATE_WORDS.get(word, word))
