"""What the live page shows, for any run in any state. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.fastlane.settings import OFF, VIDEO_MODE
from mosaic.fastlane.viewer import BROKEN, ENDED, LIVE, NO_STEP, PAUSED_NOW, STALLED
from mosaic.front.run_words import progress_parts, state_word
from mosaic.gui.state.awaited_bundles import awaited_bundle, awaited_install
from mosaic.gui.state.live_watch import LiveFrames
from mosaic.gui.state.possible_actions import may_have_episodes

# Under which names a run's config may switch its live view off.
_MODE_FIELDS = ("video_mode", "fastlane_video_mode")


class LiveContent(StrEnum):
    MESSAGE = "message"
    PICTURES = "pictures"


class Offer(StrEnum):
    """What a person may want next."""

    TRAIN = "train"
    NEWEST = "newest"
    REPLAY = "replay"
    EVALUATE = "evaluate"
    RESUME = "resume"
    CHARTS = "charts"
    BUNDLES = "bundles"


OFFER_TEXTS = {
    Offer.TRAIN: "Train a run",
    Offer.NEWEST: "Show the newest run",
    Offer.REPLAY: "Replay last episode",
    Offer.EVALUATE: "Evaluate",
    Offer.RESUME: "Resume",
    Offer.CHARTS: "Show its charts",
    Offer.BUNDLES: "Show the bundle",
}


@dataclass(frozen=True)
class Situation:
    content: LiveContent
    icon: str = "grid"
    title: str = ""
    text: str = ""
    veil: str = ""  # what is wrong with the pictures; empty: nothing
    offers: tuple[Offer, ...] = ()
    is_watched: bool = False  # watching makes sense: the run may show something


def situation_without_run(has_runs: bool) -> Situation:
    if has_runs:
        text = "Choose a run below: what its environments look like appears here, live."
        offer = Offer.NEWEST
    else:
        text = "A run that trains shows its environments here, live, side by side."
        offer = Offer.TRAIN
    return Situation(LiveContent.MESSAGE, "grid", "No run selected", text, offers=(offer,))


def situation_of(
    record: RunRecord,
    details: RunRecord | None,
    is_here: bool | None,
    frames: LiveFrames,
    *,
    is_drawn_beside: bool = False,
) -> Situation:
    """`details` is the whole record, once it is known; `is_here`: its files are on this machine.

    `is_drawn_beside`: its pictures do not come from the run itself.
    """
    if record.state is RunState.INIT and awaited_bundle(record):
        return _queued(record)
    if is_here is False:
        return Situation(
            LiveContent.MESSAGE,
            "lan-disconnect",
            "This run is on another machine",
            "Frames stay where the run is: `mosaic gui` or `mosaic frames` show them there.",
            offers=(Offer.CHARTS,),
        )
    if record.is_over:
        return _over(record, details, frames)
    if is_video_off(details) and not is_drawn_beside:
        return Situation(
            LiveContent.MESSAGE,
            "video-off-outline",
            "This run shows no frames",
            "Its live view was switched off when it was started. Curves and figures go on.",
            offers=(Offer.CHARTS,),
        )
    if record.state is RunState.INIT:
        return _queued(record)
    if frames.status == BROKEN and not is_drawn_beside:
        return Situation(
            LiveContent.MESSAGE,
            "image-broken-variant",
            "Its frames cannot be read",
            f"{_sentence(frames.message)}. The run itself is not touched by this.",
            offers=(Offer.CHARTS,),
            is_watched=True,
        )
    if not frames.has_picture:
        return Situation(
            LiveContent.MESSAGE,
            "image-search-outline",
            "Waits for its first picture",
            _doing(record, frames),
            is_watched=True,
        )
    return Situation(LiveContent.PICTURES, veil=_veil(record, frames), is_watched=True)


def _queued(record: RunRecord) -> Situation:
    if (install := awaited_install(record)) is not None:
        told = install.percent or "waits for another install"
        return Situation(
            LiveContent.MESSAGE,
            "progress-download",
            "Installing what it needs",
            f"{install.name}: {told}\nThe run starts by itself when that is there.",
            offers=(Offer.BUNDLES,),
        )
    text = _sentence(record.waiting) if record.waiting else "It starts as soon as it can."
    if not awaited_bundle(record):
        return Situation(LiveContent.MESSAGE, "clock-outline", "Waits in the queue", text)
    # Commands for a terminal are no use beside a button that does the same.
    happened = text.partition(": `")[0]
    return Situation(
        LiveContent.MESSAGE,
        "package-variant-closed",
        "Waits for what it needs",
        f"{happened}.\nOnce it is installed, the run starts by itself.",
        offers=(Offer.BUNDLES,),
    )


def is_video_off(details: RunRecord | None) -> bool:
    if details is None:
        return False
    environment = details.config.get("environment")
    if isinstance(environment, dict) and environment.get(VIDEO_MODE) == OFF:
        return True
    return any(group.get(name) == OFF for group in _settings(details) for name in _MODE_FIELDS)


def _settings(details: RunRecord) -> Iterator[dict[str, Any]]:
    """What the worker was told, the groups within it included."""
    found: Any = details.config
    for name in ("metadata", "worker", "config"):
        found = found.get(name) if isinstance(found, dict) else None
    if isinstance(found, dict):
        yield found
        yield from (value for value in found.values() if isinstance(value, dict))


def _over(record: RunRecord, details: RunRecord | None, frames: LiveFrames) -> Situation:
    offers = offers_after(record, details)
    if frames.has_picture:
        return Situation(LiveContent.PICTURES, veil=ended_text(record), offers=offers)
    has_episodes = Offer.REPLAY in offers
    text = f"The run is over ({state_word(record)})."
    if has_episodes:
        text += " Its recorded episodes can be played again."
    return Situation(LiveContent.MESSAGE, "history", "No live frames any more", text, offers=offers)


def offers_after(record: RunRecord, details: RunRecord | None) -> tuple[Offer, ...]:
    """What the run left behind decides."""
    offers = [Offer.REPLAY] if may_have_episodes(record) else []
    if details is not None and details.checkpoint_uri:
        if details.capabilities.get("supports_policy_load"):
            offers.append(Offer.EVALUATE)
        if details.capabilities.get("supports_resume"):
            offers.append(Offer.RESUME)
    return tuple(offers) or (Offer.CHARTS,)


def ended_text(record: RunRecord) -> str:
    word = state_word(record)
    return "ended" if word == "succeeded" else f"ended · {word}"


def status_of(record: RunRecord, frames: LiveFrames) -> str:
    """A word of `mosaic.fastlane.viewer`. The daemon may know more than the frames tell."""
    if record.is_over and frames.has_picture:
        return ENDED
    if record.state is RunState.PAUSE:
        return PAUSED_NOW
    return STALLED if record.stalled and frames.status == LIVE else frames.status


def _veil(record: RunRecord, frames: LiveFrames) -> str:
    status = status_of(record, frames)
    if status != STALLED:
        return status if status in (PAUSED_NOW, ENDED) else ""
    if frames.status == STALLED:
        return f"stalled {frames.message.removeprefix(NO_STEP).strip()}"
    return f"stalled · {record.stalled}"


def _doing(record: RunRecord, frames: LiveFrames) -> str:
    word = state_word(record)
    parts = [] if record.state in (RunState.HSHK, RunState.RDY) else progress_parts(record)[:3]
    doing = "The worker is starting" if word in ("starting", "ready") else f"The run is {word}"
    if record.stalled:
        doing = f"The run is stalled: {record.stalled}"
    return " · ".join([doing, *parts]) + (
        f"\n{_sentence(frames.message)}" if frames.message else ""
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def is_paused(record: RunRecord) -> bool:
    return record.state is RunState.PAUSE


def can_pause(record: RunRecord, details: RunRecord | None) -> bool:
    """Or unpause it."""
    is_able = details is not None and bool(details.capabilities.get("supports_pause_resume"))
    is_going_on = record.state in (RunState.EXEC, RunState.PAUSE) and not record.stop_requested
    return is_able and is_going_on
