"""RunSettings: what many runs were configured with, read from their stored configs once."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

from mosaic.contracts.run_settings import settings_of
from mosaic.errors import RequestError
from mosaic.foreign.files import parse_shallow_json, read_regular
from mosaic.paths import Home, checked_run_id

MOST_AT_ONCE = 1000
_LARGEST_CONFIG = 16_000_000
# About 1 kB each.
_MOST_KEPT = 20_000


class RunSettings:
    def __init__(self, home: Home) -> None:
        self._home = home
        self._kept: dict[str, str] = {}  # a stored config never changes

    async def of(self, run_ids: Sequence[str]) -> dict[str, str]:
        """JSON objects by run; one whose config cannot be read has no settings."""
        if len(run_ids) > MOST_AT_ONCE:
            raise RequestError(
                f"{len(run_ids):,} runs are too many at once",
                hint=f"ask for the settings of {MOST_AT_ONCE:,} runs at a time",
            )
        for run_id in run_ids:
            checked_run_id(run_id)
        missing = [run_id for run_id in run_ids if run_id not in self._kept]
        if missing:
            found = await asyncio.to_thread(self._read, missing)
            if len(self._kept) + len(found) > _MOST_KEPT:
                self._kept.clear()
            self._kept.update(found)
        else:
            found = {}
        return {run_id: found.get(run_id) or self._kept.get(run_id, "{}") for run_id in run_ids}

    def _read(self, run_ids: Sequence[str]) -> dict[str, str]:
        return {run_id: self._document(run_id) for run_id in run_ids}

    def _document(self, run_id: str) -> str:
        try:
            config = parse_shallow_json(read_regular(self._home.config(run_id), _LARGEST_CONFIG))
        except (OSError, ValueError):
            return "{}"
        return json.dumps(settings_of(config)) if isinstance(config, dict) else "{}"
