"""BundleOffer: what a form's run lacks, and what a click would fetch for it. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from mosaic.contracts.bundles import VenvInfo, VenvState
from mosaic.front.human import size

INSTALL, QUEUE = "Install and start", "Queue a run"
_LONGEST_TITLE = 60


@dataclass(frozen=True)
class BundleOffer:
    text: str
    advice: str = ""
    button: str = ""  # empty where nothing can be done about it here
    most_bytes: int = 0  # what is agreed to with the button
    name: str = ""  # of the bundle that tells more
    is_under_way: bool = False  # somebody has begun to install it

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
        told = [item.progress for item in busy if item.progress is not None]
        least = min(told, key=lambda progress: progress.fraction, default=None)
        share = f": {least.percent}" if least is not None else ""
        return BundleOffer(
            f"Installing {names}{share}.",
            button=QUEUE,
            most_bytes=to_fetch,
            name=busy[0].name,
            is_under_way=True,
            reason="what it needs is being installed",
        )
    first = missing[0]
    what = f"{subject} needs {names}"
    if subject.casefold() == names.casefold():
        what = f"{names} is not installed yet"
    if first.state is VenvState.BROKEN:
        what = f"{names} is damaged and has to be installed again"
    fetched = f" ({size(to_fetch)})" if to_fetch else ""
    notes = " ".join(dict.fromkeys(item.note for item in missing if item.note))
    return BundleOffer(f"{what}{fetched}.", notes, INSTALL, most_bytes=to_fetch, name=first.name)


def _title(info: VenvInfo) -> str:
    title = " ".join(info.title.split()) or info.name
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


def _sentence(text: str) -> str:
    plain = text.strip()
    return f"{plain[:1].upper()}{plain[1:].rstrip('.')}." if plain else ""
