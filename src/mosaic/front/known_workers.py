"""Workers that are known by name, in the order people expect, whether or not they are installed.

Only for showing: what a worker can do it says itself.
"""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from pathlib import Path

_FILE = Path(__file__).with_name("known_workers.json")


@dataclass(frozen=True)
class KnownWorker:
    ids: tuple[str, ...]  # the names under which a package may offer it
    title: str
    about: str
    needs: str


@functools.cache
def known_workers() -> tuple[KnownWorker, ...]:
    return tuple(
        KnownWorker(tuple(entry["ids"]), entry["title"], entry["about"], entry["needs"])
        for entry in json.loads(_FILE.read_bytes())
    )
