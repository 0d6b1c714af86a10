"""Runs the registry cannot show are set aside, with the reason, and everything else is served.

The row of such a run becomes a document in `quarantine/`, and the run's folder stays where it is.
Where its run.json is sound the run comes back from that at once (see `recovery`); else it stays
aside until a person deletes it.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.schema_check import shortened
from mosaic.daemon.registry.rows import (
    RUN_COLUMNS,
    TRANSITION_COLUMNS,
    capabilities_document,
    row_problem,
)
from mosaic.daemon.registry.store import RegistryStore
from mosaic.files import atomic_write_json, make_directory, read_json
from mosaic.logs import get_logger
from mosaic.paths import Home

log = get_logger(__name__)

_VERSION = 1
_MOST_NAMED = 5


def set_aside_rows(store: RegistryStore, home: Home, now: float) -> None:
    """Inside the caller's transaction: a crash before its commit only repeats this."""
    reasons = dict(_problems_of("transitions", TRANSITION_COLUMNS, store))
    reasons |= dict(_problems_of("runs", RUN_COLUMNS, store))
    for run_id, reason in reasons.items():
        document = {
            "version": _VERSION,
            "run_id": run_id if isinstance(run_id, str) else repr(run_id),
            "reason": reason,
            "set_aside_at": now,
            "run": next(_rows("runs", RUN_COLUMNS, store, run_id), {}),
            "transitions": list(_rows("transitions", TRANSITION_COLUMNS, store, run_id)),
        }
        _keep(home, _name_of(run_id), document)
        store.connection.execute("DELETE FROM runs WHERE run_id IS ?", (run_id,))
        log.error("run.set_aside", run_id=run_id, reason=reason)


def set_aside_capabilities(store: RegistryStore, home: Home) -> None:
    """A run whose worker's capabilities cannot be read is shown without them."""
    query = "SELECT digest, document FROM capabilities"
    for digest, text in store.connection.execute(query).fetchall():
        if not _is_capabilities(digest, text):
            _keep(
                home, f"capabilities-{_hash(digest)}", {"digest": shortened(digest), "text": text}
            )
            store.connection.execute("DELETE FROM capabilities WHERE digest IS ?", (digest,))
            log.error("capabilities.set_aside", digest=shortened(digest))


def kept_reasons(home: Home) -> dict[str, str]:
    """Why each run was set aside, now or earlier, by its id."""
    reasons = {}
    for path in sorted(home.quarantine.glob("*.json")):
        try:
            document: Any = read_json(path)
            if is_run_id(document["run_id"]):
                reasons[document["run_id"]] = str(document["reason"])
        except (OSError, ValueError, TypeError, KeyError):
            log.warning("quarantine.unreadable", path=str(path))
    return reasons


def forget(home: Home, run_id: str) -> None:
    (home.quarantine / f"{_name_of(run_id)}.json").unlink(missing_ok=True)


def set_aside_sentence(reasons: Mapping[str, str]) -> str:
    """For people; empty when no run is set aside."""
    if not reasons:
        return ""
    named = [f"{run_id} ({reason})" for run_id, reason in sorted(reasons.items())[:_MOST_NAMED]]
    if len(reasons) > _MOST_NAMED:
        named.append(f"{len(reasons) - _MOST_NAMED:,} more")
    count = "1 run is" if len(reasons) == 1 else f"{len(reasons):,} runs are"
    return (
        f"{count} set aside, since what is stored cannot be used: {', '.join(named)}. "
        "The files stay where they are; `mosaic delete --for-good RUN` removes them."
    )


def _problems_of(
    table: str, columns: Mapping[str, Any], store: RegistryStore
) -> Iterator[tuple[Any, str]]:
    where = "its history: " if table == "transitions" else ""
    names = tuple(columns)
    for values in store.connection.execute(f"SELECT {', '.join(names)} FROM {table}"):
        row = dict(zip(names, values, strict=True))
        if problem := row_problem(row, columns):
            yield row["run_id"], where + problem


def _rows(
    table: str, columns: Mapping[str, Any], store: RegistryStore, run_id: Any
) -> Iterator[dict[str, Any]]:
    query = f"SELECT {', '.join(columns)} FROM {table} WHERE run_id IS ?"
    for values in store.connection.execute(query, (run_id,)).fetchall():
        yield {name: _as_json(value) for name, value in zip(columns, values, strict=True)}


def _as_json(value: Any) -> Any:
    is_plain = value is None or isinstance(value, str | int)
    return value if is_plain or (isinstance(value, float) and math.isfinite(value)) else repr(value)


def _is_capabilities(digest: Any, text: Any) -> bool:
    try:
        document = json.loads(text)
        return isinstance(document, dict) and capabilities_document(document)[0] == digest
    except (ValueError, TypeError, RecursionError):
        return False


def _keep(home: Home, name: str, document: dict[str, Any]) -> None:
    make_directory(home.quarantine, mode=0o700)
    atomic_write_json(home.quarantine / f"{name}.json", document)


def _name_of(run_id: Any) -> str:
    """The id there may be anything, even a path."""
    return str(run_id) if is_run_id(run_id) else f"unknown-{_hash(run_id)}"


def _hash(value: Any) -> str:
    return hashlib.blake2b(repr(value).encode(), digest_size=8).hexdigest()
