"""Which runs others were resumed from or evaluate: their checkpoints are somebody's past."""

from __future__ import annotations

import re
from collections.abc import Collection

from mosaic.contracts.hostile_text import RUN_ID
from mosaic.files import MOST_JSON_BYTES
from mosaic.foreign_files import read_regular
from mosaic.paths import Home

# Anywhere in the text: as the parent a client noted, or within the path of a checkpoint.
_MENTION = re.compile(rf"(?<![0-9A-Z]){RUN_ID.pattern}(?![0-9A-Z])")


def needed_runs(home: Home, run_ids: Collection[str]) -> set[str]:
    """Those of the runs that the config of another of them mentions."""
    known = set(run_ids)
    needed: set[str] = set()
    for run_id in known:
        try:
            text = read_regular(home.config(run_id), MOST_JSON_BYTES).decode(errors="replace")
        except OSError:
            continue
        needed |= mentioned_runs(text, run_id) & known
    return needed


def mentioned_runs(text: str, run_id: str) -> set[str]:
    return set(_MENTION.findall(text)) - {run_id}
