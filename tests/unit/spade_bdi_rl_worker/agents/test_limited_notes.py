"""Notes are held to what people can read; everything else passes."""

from __future__ import annotations

from spade_bdi_rl_worker.agents.limited_notes import MAX_ALIKE, MAX_NOTES, PERIOD_S, LimitedNotes
from spade_bdi_rl_worker.agents.protocols import NoTrace


class Notes(NoTrace):
    def __init__(self) -> None:
        self.told: list[str] = []

    def note(self, text: str) -> None:
        self.told.append(text)


def test_the_same_note_is_told_a_few_times_and_all_notes_so_many_times() -> None:
    notes, moment = Notes(), 0.0
    limited = LimitedNotes(notes, lambda: moment)
    for _ in range(100):
        limited.note("again")
    assert notes.told == ["again"] * MAX_ALIKE
    for number in range(100):
        limited.note(f"note {number}")
    assert len(notes.told) == MAX_NOTES
    moment = PERIOD_S + 1
    limited.note("later")
    assert notes.told[-2:] == [f"{200 - MAX_NOTES:,} more notes like these were not shown", "later"]
