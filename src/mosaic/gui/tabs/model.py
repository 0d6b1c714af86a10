"""Tabs without Qt: which a run has, which of them have room, their tables as plain text.

What the record of a run says is all that is looked at.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from mosaic.contracts.learner import worker_settings
from mosaic.contracts.run_record import RunRecord


def has_charts(record: RunRecord) -> bool:
    """A run that measures something, or may do so yet."""
    return not record.is_over or record.started_at is not None


def has_telemetry(record: RunRecord) -> bool:
    """Every run: where there are no steps, the tab says so, and why."""
    return True


def has_videos(record: RunRecord) -> bool:
    """There are some, or its settings ask for some."""
    return bool(record.manifest.get("videos")) or may_record_videos(record)


def may_record_videos(record: RunRecord) -> bool:
    settings = worker_settings(record.config)
    extras = object_in(settings, "extras")
    places = (settings, extras, object_in(extras, "algo_params"))
    return any(bool(place.get("capture_video")) for place in places)


def has_tensorboard(record: RunRecord) -> bool:
    return bool(object_in(record.manifest, "tensorboard").get("enabled"))


def has_wandb(record: RunRecord) -> bool:
    return bool(object_in(record.manifest, "wandb").get("enabled"))


def has_trials(record: RunRecord) -> bool:
    return bool(record.manifest.get("optuna_db_path"))


def has_config(record: RunRecord) -> bool:
    return True


def has_environment(record: RunRecord) -> bool:
    return bool(record.env_id)


def object_in(parent: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    """Empty where there is none: configs and manifests may come from anywhere."""
    value = parent.get(name)
    return value if isinstance(value, dict) else {}


class Tone(StrEnum):
    """What a row says by its colour, besides its words."""

    PLAIN = ""
    GOOD = "good"
    BAD = "bad"
    MUTED = "muted"
    GONE = "gone"  # struck through: it is there no more


@dataclass(frozen=True)
class Column:
    title: str
    is_number: bool = False
    is_wide: bool = False  # takes the room that the others leave; long texts are cut
    is_link: bool = False  # what it says is done when it is clicked
    help: str = ""


@dataclass(frozen=True)
class Row:
    key: Hashable
    cells: tuple[str, ...]
    tone: Tone = Tone.PLAIN
    help: str = ""


@dataclass(frozen=True)
class Growth:
    """How rows became others: this many in front of the old ones, this many gone from their end."""

    added: int
    removed: int


def growth(old: Sequence[Row], new: Sequence[Row]) -> Growth | None:
    """None where the new rows do not continue from the old ones."""
    if not old or not new:
        return None
    added = next((index for index, row in enumerate(new) if row.key == old[0].key), None)
    if added is None:
        return None
    kept = len(new) - added
    if kept > len(old) or [row.key for row in new[added:]] != [row.key for row in old[:kept]]:
        return None
    return Growth(added, len(old) - kept)


def shown_tabs(widths: Sequence[int], current: int, room: int, menu_width: int) -> tuple[bool, ...]:
    """For each tab whether it is shown: as many as fit, from the left, and always the current one.

    Where not all fit, `menu_width` is kept for the button that lists the rest.
    """
    if sum(widths) <= room:
        return (True,) * len(widths)
    left = room - menu_width
    if 0 <= current < len(widths):
        left -= widths[current]
    shown = []
    is_full = False
    for index, width in enumerate(widths):
        if index == current:
            shown.append(True)
            continue
        # Without gaps: what comes after the first that does not fit is in the menu as well.
        is_full = is_full or width > left
        shown.append(not is_full)
        left -= 0 if is_full else width
    return tuple(shown)


def time_of_day(at: float, now: float | None = None) -> str:
    """The time of day, with the day where that is not today's."""
    moment = time.localtime(at)
    is_today = time.strftime("%F", moment) == time.strftime("%F", time.localtime(now))
    return time.strftime("%H:%M:%S" if is_today else "%b %d %H:%M", moment)
