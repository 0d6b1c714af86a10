"""How `mosaic trials` shows a study: as a table, as JSON, or as it changes."""

from __future__ import annotations

import sys
import time
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from mosaic.analytics.optuna.study import (
    SortBy,
    Study,
    Trial,
    best_trials,
    chosen_trials,
    duration_s,
    parameter_names,
)
from mosaic.cli.shared.terminal import (
    is_terminal,
    paint,
    printable,
    say,
    say_json,
    say_table,
    say_to_stderr,
)
from mosaic.errors import MosaicError, StoreError
from mosaic.front.human import amount, decimal, duration

INTERVAL_S = 1.0
PATIENCE_S = 30.0
PROBLEMS_SHOWN = 3
_CLEAR = "\x1b[H\x1b[2J"
_COLOURS = {"RUNNING": "blue", "PRUNED": "dim", "FAIL": "red", "WAITING": "dim"}


class StudyReader(Protocol):
    def read(self) -> list[Study]: ...


@dataclass(frozen=True)
class TrialChoice:
    """Which trials, and in which order."""

    sort: str = SortBy.VALUE.value
    states: tuple[str, ...] = ()
    limit: int | None = None

    def trials(self, study: Study) -> list[Trial]:
        return chosen_trials(study, SortBy(self.sort), self.states, self.limit)


def say_study(study: Study, choice: TrialChoice) -> None:
    best = best_trials(study)
    shown = choice.trials(study)
    counts = {state: 0 for state in ("COMPLETE", "RUNNING", "PRUNED", "FAIL", "WAITING")}
    for trial in study.trials:
        counts[trial.state] = counts.get(trial.state, 0) + 1
    states = ", ".join(f"{count} {state.lower()}" for state, count in counts.items() if count)
    objectives = ", ".join(map(str.lower, study.directions))
    say(
        f"{paint(printable(study.name), 'bold')}  {objectives}"
        f"  {amount(len(study.trials), 'trial')}" + (f": {states}" if states else "")
    )
    if not shown:
        say("no trials" if not study.trials else "no such trials")
        return
    names = parameter_names(shown)
    values = [f"VALUE {i}" for i in range(len(study.directions))]
    header = ["TRIAL", "", *(["VALUE"] if len(values) == 1 else values), "STATE", "TIME", *names]
    rows = [_row(study, trial, trial.number in best, names) for trial in shown]
    colours = ["green" if t.number in best else _COLOURS.get(t.state, "") for t in shown]
    say_table([printable(name) for name in header], rows, colours, flexible=len(header) - 1)
    if len(shown) < len(study.trials) and not choice.states:
        say(paint(f"{len(shown)} of {len(study.trials)}", "dim"))


def _row(study: Study, trial: Trial, is_best: bool, names: list[str]) -> list[str]:
    values = [decimal(value) for value in trial.values or ()][: len(study.directions)]
    values += ["-"] * (len(study.directions) - len(values))
    took = duration_s(trial, time.time() if trial.state == "RUNNING" else None)
    return [
        str(trial.number),
        "best" if is_best else "",
        *values,
        trial.state.lower(),
        "-" if took is None else duration(took),
        *(_parameter(trial.params[name]) if name in trial.params else "-" for name in names),
    ]


def _parameter(value: Any) -> str:
    return decimal(value) if isinstance(value, float) else str(value)


def trial_json(trial: Trial, is_best: bool) -> dict[str, Any]:
    return {**asdict(trial), "duration_s": duration_s(trial), "is_best": is_best}


def study_json(study: Study, choice: TrialChoice) -> dict[str, Any]:
    best = best_trials(study)
    return {
        "study": study.name,
        "directions": study.directions,
        "user_attrs": study.user_attrs,
        "best": sorted(best),
        "trials": [trial_json(trial, trial.number in best) for trial in choice.trials(study)],
    }


def say_problems(reader: StudyReader) -> None:
    """What a journal holds that Optuna did not write is left out, and said."""
    problems: list[MosaicError] = getattr(reader, "problems", [])
    for problem in problems[:PROBLEMS_SHOWN]:
        say_to_stderr(f"left out: {printable(problem.message)}")
    if len(problems) > PROBLEMS_SHOWN:
        say_to_stderr(f"and {len(problems) - PROBLEMS_SHOWN} more")
    problems.clear()


class StudyFollower:
    """Shows a study again whenever it has changed; away from a terminal, only what changed."""

    def __init__(
        self, reader: StudyReader, name: str | None, choice: TrialChoice, *, as_json: bool
    ) -> None:
        self._reader = reader
        self._name = name
        self._choice = choice
        self._as_json = as_json
        self._seen: dict[tuple[str, int], tuple[Any, ...]] = {}
        self._read_at = time.monotonic()

    def run(self) -> int:
        try:
            while True:
                self.look()
                time.sleep(INTERVAL_S)
        except KeyboardInterrupt:
            return 0

    def look(self) -> None:
        try:
            studies = self._reader.read()
        except StoreError:
            # A writer may be busy with it, or about to replace it.
            if time.monotonic() - self._read_at > PATIENCE_S:
                raise
            return
        self._read_at = time.monotonic()
        say_problems(self._reader)
        chosen = [study for study in studies if self._name in (None, study.name)]
        changed = [(study, trial) for study in chosen for trial in self._news(study)]
        if not changed:
            return
        best = {study.name: best_trials(study) for study in chosen}
        if self._as_json:
            for study, trial in changed:
                news = trial_json(trial, trial.number in best[study.name])
                text = {"study": study.name, **news}
                say_json(text, indent=None)
        elif is_terminal(sys.stdout):
            sys.stdout.write(_CLEAR)
            for study in chosen:
                say_study(study, self._choice)
        else:
            for study, trial in changed:
                say(_line(study, trial, trial.number in best[study.name]))

    def _news(self, study: Study) -> list[Trial]:
        found = []
        for trial in self._choice.trials(study):
            key, now = (study.name, trial.number), (trial.state, repr(trial.values))
            if self._seen.get(key) != now:
                self._seen[key] = now
                found.append(trial)
        return sorted(found, key=lambda trial: trial.number)


def _line(study: Study, trial: Trial, is_best: bool) -> str:
    values = ", ".join(decimal(value) for value in trial.values or ()) or "-"
    drawn = "  ".join(f"{name}={_parameter(value)}" for name, value in trial.params.items())
    best = "  best" if is_best else ""
    line = f"{study.name}  trial {trial.number}  {trial.state.lower()}  {values}{best}  {drawn}"
    return printable(line).rstrip()
