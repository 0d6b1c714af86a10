"""What runs in the queue wait for, where that is a bundle: read from the daemon's sentence."""

from __future__ import annotations

import re
from typing import NamedTuple

from mosaic.contracts.run_record import RunRecord

# As the daemon has them: see daemon/bundles/waiting.py and needs.py.
_INSTALLING = re.compile(r"installing ([a-z0-9_+]+): (?:(\d{1,3}) %|waiting\b)")
_COMMAND = re.compile(r"`mosaic bundles install ([a-z0-9_+]+)`")


class AwaitedInstall(NamedTuple):
    name: str
    fraction: float | None  # None: it waits for another install

    @property
    def percent(self) -> str:
        return "" if self.fraction is None else f"{round(self.fraction * 100)} %"


def awaited_install(record: RunRecord) -> AwaitedInstall | None:
    """None for a run that waits for something else, or not at all."""
    found = None if record.is_over else _INSTALLING.match(record.waiting)
    if found is None:
        return None
    percent = found[2]
    return AwaitedInstall(found[1], None if percent is None else min(100, int(percent)) / 100)


def awaited_bundle(record: RunRecord) -> str:
    """The name of the bundle that it waits for; also where nobody has begun to install it."""
    install = awaited_install(record)
    if install is not None:
        return install.name
    return bundle_to_install(record.waiting)


def bundle_to_install(sentence: str) -> str:
    """The one whose install a sentence of the daemon advises; empty where it advises none."""
    found = _COMMAND.search(sentence)
    return found[1] if found else ""
