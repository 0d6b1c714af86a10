"""Which runs a person means, found among those the daemon has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_reference import LATEST, choose_run, choose_runs

HELP = "id, beginning or end of an id (4 characters or more), name, or 'latest'"
GROUP_HELP = f"{HELP}; the name of a group means all its runs"


class RunLister(Protocol):
    def list_runs(self, *, limit: int) -> list[RunRecord]: ...


def resolve_run(client: RunLister, text: str) -> str:
    """The id of the run that is meant; raises with the candidates when several could be."""
    return choose_run(_listed(client, [text]), text)


def resolve_runs(client: RunLister, texts: Sequence[str]) -> list[str]:
    """The ids of all that is meant, each once; the name of a group stands for its runs."""
    runs = _listed(client, texts)
    return list(dict.fromkeys(run_id for text in texts for run_id in choose_runs(runs, text)))


def _listed(client: RunLister, texts: Sequence[str]) -> list[RunRecord]:
    """As many as it takes to tell."""
    words = [text for text in texts if not is_run_id(text.upper())]
    if not words:
        return []
    return client.list_runs(limit=1 if all(word.lower() in LATEST for word in words) else 0)
