"""BundleOffer: what a form's run lacks, and what a click would fetch for it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.contracts.bundles import VenvInfo, VenvState
from mosaic.front.human import size

INSTALL, WAIT = "Install and start", "Start when it is there"
_LONGEST_TITLE = 60


@dataclass(frozen=True)
class BundleOffer:
    text: str
    advice: str = ""
    button: str = ""  # empty where nothing can be done about it here
    most_bytes: int = 0  # what is agreed to with the button
    name: str = ""  # of the bundle that tells more

    reason: str = "it is not installed yet: see above"  # why the form's own button does nothing

    @property
    def is_possible(self) -> bool:
        return bool(self.button)


def offer_of(missing: Sequence[VenvInfo], subject: str) -> BundleOffer | None:
    """None where nothing is missing. `subject`: what needs it, as a person knows it."""
    if not missing:
        return None
    nowhere = next((item for item in missing if item.state is VenvState.UNAVAILABLE), None)
    if nowhere is not None:
        text = nowhere.problem or f"{_title(nowhere)} cannot be installed here"
        return BundleOffer(
            _sentence(text),
            _sentence(nowhere.hint),
            name=nowhere.name,
            reason="What it needs cannot be installed here",
        )
    to_fetch = sum(item.fetch_bytes for item in missing)
    names = " and ".join(map(_title, missing))
    busy = [item for item in missing if item.state is VenvState.INSTALLING]
    if len(busy) == len(missing):
        progress = busy[0].progress
        share = f": {progress.percent}" if progress is not None else ""
        return BundleOffer(
            f"{names} is being installed{share}.",
            button=WAIT,
            most_bytes=to_fetch,
            name=busy[0].name,
            reason="what it needs is being installed",
        )
    first = missing[0]
    what = f"{subject} needs {names}"
    if first.state is VenvState.BROKEN:
        what = f"{names} is damaged and has to be installed again"
    fetched = f" ({size(to_fetch)})" if to_fetch else ""
    return BundleOffer(f"{what}{fetched}.", button=INSTALL, most_bytes=to_fetch, name=first.name)


def _title(info: VenvInfo) -> str:
    title = " ".join(info.title.split()) or info.name
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _sentence(text: str) -> str:
    plain = text.strip()
    return f"{plain[:1].upper()}{plain[1:].rstrip('.')}." if plain else ""
