"""Tags of several runs as one line that a person edits, and what that changes. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from mosaic.contracts.run_labels import LabelChange
from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import amount

_SEPARATORS = re.compile(r"[\s,]+")


def tags_text(records: Sequence[RunRecord]) -> str:
    """Those that all of them have, in the order of the first."""
    if not records:
        return ""
    shared = set.intersection(*(set(record.tags) for record in records))
    return " ".join(tag for tag in records[0].tags if tag in shared)


def tags_change(before: str, after: str) -> LabelChange | None:
    """What was typed added and removed; None where that is nothing."""
    known, wanted = before.split(), [tag for tag in _SEPARATORS.split(after.strip()) if tag]
    # A sign is how a command line would say it.
    wanted = [tag.removeprefix("+") for tag in wanted]
    added = tuple(dict.fromkeys(tag for tag in wanted if tag and tag not in known))
    removed = tuple(tag for tag in known if tag not in wanted)
    return LabelChange(add_tags=added, remove_tags=removed) if added or removed else None


def known_tags(records: Iterable[RunRecord]) -> set[str]:
    return {tag for record in records for tag in record.tags}


def what_is_labelled(records: Sequence[RunRecord]) -> str:
    return records[0].run_name if len(records) == 1 else amount(len(records), "run")
