"""Which run a person means: an id, a part of it, a name, or the latest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError, UnknownRunError

LATEST = ("latest", "@last")
MIN_PART = 4
MAX_CANDIDATES = 10
GROUP_HELP = "runs as elsewhere, or the name of a group for all of its runs"
HELP = "id, beginning or end of an id (4 characters or more), name, or 'latest'"


class RunLister(Protocol):
    def list_runs(self, *, limit: int) -> list[RunRecord]: ...


def resolve_run(client: RunLister, text: str) -> str:
    """The id of the run that is meant; raises with the candidates when several could be."""
    if is_run_id(text.upper()):
        return text.upper()
    if text.lower() in LATEST:
        newest = client.list_runs(limit=1)
        if not newest:
            raise UnknownRunError("There are no runs yet", hint="start one with `mosaic run`")
        return newest[0].run_id
    runs = client.list_runs(limit=0)
    return choose_run(runs, text)


def resolve_runs(client: RunLister, texts: Sequence[str]) -> list[str]:
    """The ids of all that is meant, each once; the name of a group stands for its runs."""
    groups: dict[str, list[str]] = {}
    for run in reversed(client.list_runs(limit=0)):
        if run.group:
            groups.setdefault(run.group, []).append(run.run_id)
    found = [run for text in texts for run in groups.get(text) or [resolve_run(client, text)]]
    return list(dict.fromkeys(found))


def choose_run(runs: list[RunRecord], text: str) -> str:
    part = text.upper()
    matches = [
        run
        for run in runs
        if run.run_name == text
        or (len(part) >= MIN_PART and (run.run_id.startswith(part) or run.run_id.endswith(part)))
    ]
    if len(matches) == 1:
        return matches[0].run_id
    if not matches:
        short = len(part) < MIN_PART
        raise UnknownRunError(
            f"There is no run {text[:80]!r}",
            hint=f"a part of an id needs {MIN_PART} characters or more"
            if short
            else "`mosaic runs --all` lists them",
        )
    listed = ", ".join(f"{run.run_id} ({run.run_name})" for run in matches[:MAX_CANDIDATES])
    more = f" and {len(matches) - MAX_CANDIDATES} more" if len(matches) > MAX_CANDIDATES else ""
    raise RequestError(
        f"{text[:80]!r} could be {len(matches)} runs: {listed}{more}",
        hint="give more of the id",
        candidates=[run.run_id for run in matches],
    )
