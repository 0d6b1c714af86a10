"""Reads Optuna studies from the log of operations that its JournalFileBackend appends to.

Optuna takes a lock before it appends, but readers need none: a line counts once it is whole.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from mosaic.analytics.growing_records import GrowingRecords, RecordBatch
from mosaic.analytics.optuna_study import (
    DECODE_ERRORS,
    DIRECTIONS,
    FINISHED,
    STATES,
    Distribution,
    Study,
    Trial,
    local_time,
    objectives,
)
from mosaic.errors import CorruptStoreError, StoreError
from mosaic.foreign_json import parse_shallow_json

# More of them say nothing new about a file that is no journal at all.
MAX_PROBLEMS = 20
_REASON_CHARACTERS = 120
MAX_LINE_BYTES = 8 * 1_048_576

_Operation = dict[str, Any]


class _Lines(GrowingRecords):
    def _split(self, data: bytes, available: int, batch: RecordBatch) -> int:
        end = data.rfind(b"\n") + 1
        if end:
            batch.records.extend(data[: end - 1].split(b"\n"))
        elif len(data) >= self.max_record_bytes:
            self._report(batch, self.offset, "a line longer than allowed, cut in pieces,")
            return len(data)
        else:
            longer = min(2 * len(data), available, self.max_record_bytes)
            self._wanted = max(self._chunk_bytes, longer)
        return end


class JournalStudies:
    """The studies of one journal file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.problems: list[StoreError] = []
        self._lines = _Lines(path, max_record_bytes=MAX_LINE_BYTES)
        self._replay = _Replay()

    def read(self) -> list[Study]:
        """All studies as they are now; the lists are live, a later `read` goes on with them."""
        has_more = True
        restarts = 0
        while has_more and restarts < 2:
            batch = self._lines.next_batch()
            has_more = batch.has_more
            if batch.is_restarted:
                self._replay = _Replay()
                restarts += 1
            self.problems.extend(batch.problems)
            for line in batch.records:
                self._apply(line)
        return list(self._replay.studies.values())

    def _apply(self, line: bytes) -> None:
        if not line.strip():
            return
        try:
            operation = parse_shallow_json(line)
            self._replay.apply(operation)
        except (*DECODE_ERRORS, AttributeError) as error:
            if len(self.problems) < MAX_PROBLEMS:
                reason = f"{type(error).__name__}: {error}"[:_REASON_CHARACTERS]
                sentence = f"{self.path}: a line is not what Optuna writes, left out: {reason}"
                self.problems.append(CorruptStoreError(sentence, path=str(self.path)))


class _Replay:
    """Carries operations out as Optuna does.

    A worker writes an operation before it knows whether it is allowed; those that are not stay in
    the journal, and everybody passes over them by the same rules.
    """

    def __init__(self) -> None:
        self.studies: dict[int, Study] = {}
        self._next_study_id = 0
        self._trials: list[tuple[int, Trial]] = []
        self._first_distributions: dict[tuple[int, str], Distribution] = {}
        self._operations: dict[int, Callable[[_Operation], None]] = {
            0: self._create_study,
            1: self._delete_study,
            2: self._set_study_user_attr,
            4: self._create_trial,
            5: self._set_param,
            6: self._set_state,
            7: self._set_intermediate_value,
            8: self._set_user_attr,
        }

    def apply(self, operation: _Operation) -> None:
        # Attributes of the system (3, 9) and operations of other writers (10) do not show.
        carry_out = self._operations.get(operation["op_code"])
        if carry_out is not None:
            carry_out(operation)

    def _create_study(self, said: _Operation) -> None:
        if said["study_name"] in {study.name for study in self.studies.values()}:
            return
        directions = [DIRECTIONS[number] for number in said["directions"]]
        self.studies[self._next_study_id] = Study(said["study_name"], directions)
        self._next_study_id += 1

    def _delete_study(self, said: _Operation) -> None:
        self.studies.pop(said["study_id"], None)

    def _set_study_user_attr(self, said: _Operation) -> None:
        study = self.studies.get(said["study_id"])
        if study is not None:
            study.user_attrs.update(said["user_attr"])

    def _create_trial(self, said: _Operation) -> None:
        study_id = said["study_id"]
        study = self.studies.get(study_id)
        if study is None:
            return
        trial = Trial(
            number=len(study.trials),
            state=STATES[said.get("state", 0)],
            user_attrs=dict(said.get("user_attrs", {})),
            intermediate_values={
                int(step): float(value)
                for step, value in said.get("intermediate_values", {}).items()
            },
            started_at=local_time(said["datetime_start"]),
            ended_at=local_time(said.get("datetime_complete")),
        )
        value = said.get("value")
        trial.values = objectives(said.get("values") if value is None else [value])
        drawn = said.get("distributions", {})
        for name, stored in said.get("params", {}).items():
            self._place_param(study_id, trial, name, stored, drawn[name])
        study.trials.append(trial)
        self._trials.append((study_id, trial))

    def _set_param(self, said: _Operation) -> None:
        found = self._open_trial(said)
        if found is not None:
            study_id, trial = found
            name, stored = said["param_name"], said["param_value_internal"]
            self._place_param(study_id, trial, name, stored, said["distribution"])

    def _place_param(
        self, study_id: int, trial: Trial, name: str, stored: float, text: str
    ) -> None:
        drawn = Distribution.from_json(text)
        if self._first_distributions.setdefault((study_id, name), drawn) == drawn:
            trial.params[name] = drawn.decode(stored)

    def _set_state(self, said: _Operation) -> None:
        found = self._open_trial(said)
        state = STATES[said["state"]]
        if found is None or state == found[1].state == "RUNNING":
            return
        trial = found[1]
        if state == "RUNNING":
            trial.started_at = local_time(said["datetime_start"])
        elif state in FINISHED:
            trial.ended_at = local_time(said["datetime_complete"])
        trial.state = state
        if said["values"] is not None:
            trial.values = objectives(said["values"])

    def _set_intermediate_value(self, said: _Operation) -> None:
        found = self._open_trial(said)
        if found is not None:
            found[1].intermediate_values[int(said["step"])] = float(said["intermediate_value"])

    def _set_user_attr(self, said: _Operation) -> None:
        found = self._open_trial(said)
        if found is not None:
            found[1].user_attrs.update(said["user_attr"])

    def _open_trial(self, said: _Operation) -> tuple[int, Trial] | None:
        """The trial meant, unless it is over (or was never there)."""
        number = said["trial_id"]
        if not 0 <= number < len(self._trials):
            return None
        found = self._trials[number]
        return None if found[1].state in FINISHED else found
