"""Which runs a person means: by id, part of an id, name, `latest`, or the name of a group. Pure.

A group has the name that its runs were given together, or the one they share but for their seed:
`ours` is the group of `ours-seed1` and `ours-seed2`, whether they were started at once or not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Protocol, TypeVar

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError, UnknownRunError

LATEST = ("latest", "@last")
MIN_PART = 4
MAX_CANDIDATES = 10
# With the number that makes the name unique, see contracts/run_labels.py.
_SEED_SUFFIX = re.compile(r"[-_ ](seed[-_=]?|s)\d+(#\d+)?$", re.IGNORECASE)


class NamedRun(Protocol):
    @property
    def run_id(self) -> str: ...
    @property
    def run_name(self) -> str: ...


Run = TypeVar("Run", bound=NamedRun)


def name_without_seed(run_name: str) -> str:
    return _SEED_SUFFIX.sub("", run_name)


def is_seed_of(run: NamedRun, name: str) -> bool:
    return name not in ("", run.run_name) and name_without_seed(run.run_name) == name


def is_in_group(run: RunRecord, name: str) -> bool:
    return (bool(name) and run.group == name) or is_seed_of(run, name)


def matching_runs(runs: Iterable[Run], text: str) -> list[Run]:
    """Those whose name or part of the id it is; more than one when it does not say enough."""
    part = text.upper()
    return [
        run
        for run in runs
        if run.run_name == text
        or (len(part) >= MIN_PART and (run.run_id.startswith(part) or run.run_id.endswith(part)))
    ]


def choose_run(runs: Sequence[RunRecord], text: str) -> str:
    """The id of the one that is meant, of all runs, newest first; raises with the candidates when
    several could be."""
    if is_run_id(text.upper()):
        return text.upper()
    if text.lower() in LATEST:
        if not runs:
            raise UnknownRunError("There are no runs yet", hint="start one with `mosaic train`")
        return runs[0].run_id
    matches = matching_runs(runs, text)
    members = [] if matches else _members(runs, text)
    if len(found := matches or members) == 1:
        return found[0].run_id
    if not found:
        is_short = len(text) < MIN_PART
        raise UnknownRunError(
            f"There is no run {text[:80]!r}",
            hint=f"a part of an id needs {MIN_PART} characters or more"
            if is_short
            else "`mosaic runs --all` lists them",
        )
    raise RequestError(
        f"{text[:80]!r} {'is a group of' if members else 'could be'} {len(found)} runs: "
        f"{_listed(found)}",
        hint="name one of them" if members else "give more of the id",
        candidates=[run.run_id for run in found],
    )


def choose_runs(runs: Sequence[RunRecord], text: str) -> list[str]:
    """The same where several will do: the name of a group means all its runs, oldest first."""
    if together := [run.run_id for run in reversed(runs) if text and run.group == text]:
        return together
    if not matching_runs(runs, text) and (members := _members(runs, text)):
        return [run.run_id for run in members]
    return [choose_run(runs, text)]


def _members(runs: Sequence[RunRecord], name: str) -> list[RunRecord]:
    return [run for run in reversed(runs) if is_in_group(run, name)]


def _listed(runs: Sequence[NamedRun]) -> str:
    listed = ", ".join(f"{run.run_id} ({run.run_name})" for run in runs[:MAX_CANDIDATES])
    more = len(runs) - MAX_CANDIDATES
    return f"{listed} and {more} more" if more > 0 else listed
