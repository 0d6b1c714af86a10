"""Design tokens: every colour, size and distance of the workbench. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

# Distances are multiples of this.
GRID = 4
GAP, PADDING, MARGIN = 8, 12, 16
RADIUS, CARD_RADIUS = 6, 8
FONT, CAPTION, SECTION, TITLE = 13, 11, 15, 20
BAND_ALPHA = 0.2  # of the area around a curve
SNACKBAR_FADE_MS = 120
VEIL_ALPHA = 110  # of 255: how dark the window is below a card


@dataclass(frozen=True)
class Palette:
    name: str
    window: str
    panel: str
    raised: str
    line: str
    text: str
    muted: str
    accent: str
    accent_hover: str
    on_accent: str
    hover: str  # below the pointer
    selected: str  # a chosen row
    field: str  # where something can be typed
    good: str
    bad: str
    warning: str
    plot: str  # behind curves


DARK = Palette(
    name="dark",
    window="#15171c",
    panel="#1c1f26",
    raised="#242832",
    line="#313642",
    text="#e6e8ec",
    muted="#9aa3b2",
    accent="#6c8cff",
    accent_hover="#86a1ff",
    on_accent="#0d1020",
    hover="#262b35",
    selected="#232b45",
    field="#15171c",
    good="#4cc38a",
    bad="#ff6b6b",
    warning="#f5a524",
    plot="#181b21",
)
LIGHT = Palette(
    name="light",
    window="#f6f7f9",
    panel="#ffffff",
    raised="#ffffff",
    line="#dde1e7",
    text="#1b1f27",
    muted="#5c6675",
    accent="#3b5bdb",
    accent_hover="#2f4cc0",
    on_accent="#ffffff",
    hover="#eef1f6",
    selected="#e4eafc",
    field="#ffffff",
    good="#187349",
    bad="#c42929",
    warning="#955500",
    plot="#ffffff",
)


class StateLook(NamedTuple):
    """How a run's state is drawn: never by colour alone."""

    icon: str
    dark: str
    light: str
    is_outline: bool = False


# By the words of `mosaic.front.run_words.state_word`.
STATES = {
    "queued": StateLook("clock-outline", "#94a3b8", "#5b6778"),
    "starting": StateLook("rocket-launch-outline", "#22c3dd", "#0a6d80"),
    "ready": StateLook("rocket-launch-outline", "#22c3dd", "#0a6d80"),
    "running": StateLook("play-circle", "#4cc38a", "#187349"),
    "paused": StateLook("pause-circle", "#f0b429", "#855800"),
    "stopping": StateLook("stop-circle-outline", "#94a3b8", "#5b6778"),
    "succeeded": StateLook("check-circle-outline", "#4cc38a", "#187349", is_outline=True),
    "failed": StateLook("alert-circle", "#ff6b6b", "#c42929"),
    "failing": StateLook("alert-circle-outline", "#ff6b6b", "#c42929"),
    "canceled": StateLook("cancel", "#939cab", "#5d6673"),
    "stalled": StateLook("timer-sand", "#ff9e64", "#a34b19"),
}
UNKNOWN_STATE = StateLook("help-circle-outline", "#b48ead", "#7d4a96")


def state_look(word: str) -> StateLook:
    return STATES.get(word, UNKNOWN_STATE)


def state_colour(word: str, palette: Palette) -> str:
    look = state_look(word)
    return look.dark if palette.name == DARK.name else look.light


def contrast(one: str, other: str) -> float:
    """Between two colours like "#15171c", from 1 to 21, as the guidelines for the web define it."""
    dark, light = sorted((_luminance(one), _luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: str) -> float:
    parts = (int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5))
    linear = [
        part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    ]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
