"""Colours that everybody can read and tell apart, in both palettes."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

import mosaic.gui
from mosaic.contracts.run_state import Outcome
from mosaic.gui.state.runs_state import CURVES
from mosaic.gui.theme.tokens import (
    DARK,
    LIGHT,
    STATES,
    UNKNOWN_STATE,
    Palette,
    contrast,
    state_colour,
    state_look,
)

PALETTES = (DARK, LIGHT)
READABLE, SEEN = 4.5, 3.0
OKABE_ITO = {
    *("#e69f00", "#56b4e9", "#009e73", "#f0e442"),
    *("#0072b2", "#d55e00", "#cc79a7", "#000000", "#999999"),
}


def grounds(palette: Palette) -> dict[str, str]:
    """What words stand on."""
    names = ("window", "panel", "raised", "field", "hover", "selected")
    return {name: getattr(palette, name) for name in names}


def test_contrast_is_that_of_the_guidelines() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)
    assert contrast("#123456", "#123456") == 1.0


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
def test_words_can_be_read_wherever_they_stand(palette: Palette) -> None:
    words = ("text", "muted", "accent", "good", "bad", "warning")
    pairs = itertools.product(words, grounds(palette).items())
    weak = {
        f"{word} on {name}": round(ratio, 2)
        for word, (name, ground) in pairs
        if (ratio := contrast(getattr(palette, word), ground)) < READABLE
    }
    for ground in (palette.accent, palette.accent_hover):
        if (ratio := contrast(palette.on_accent, ground)) < READABLE:
            weak[f"on_accent on {ground}"] = round(ratio, 2)
    assert not weak


@pytest.mark.parametrize("palette", PALETTES, ids=lambda palette: palette.name)
def test_the_words_of_states_can_be_read(palette: Palette) -> None:
    weak = {
        f"{word} on {name}": round(ratio, 2)
        for word, (name, ground) in itertools.product(
            (*STATES, "unheard of"), grounds(palette).items()
        )
        if (ratio := contrast(state_colour(word, palette), ground)) < READABLE
    }
    assert not weak


def test_a_state_is_never_told_by_its_colour_alone() -> None:
    """Words differ anyway; those that share a colour, or look alike to some, differ in the icon."""
    looks = {word: state_look(word) for word in STATES}
    assert UNKNOWN_STATE.icon and all(look.icon for look in looks.values())
    for (one, first), (other, second) in itertools.combinations(looks.items(), 2):
        if {one, other} != {"starting", "ready"}:  # two words for nearly the same
            assert first.icon != second.icon, (one, other)
    assert {outcome.value for outcome in Outcome} <= set(STATES)


def test_no_widget_draws_a_state_by_its_colour_without_icon_and_word() -> None:
    """Whoever asks for the colour of a state also asks for its icon, in the same file."""
    folder = Path(mosaic.gui.__file__).parent
    for file in folder.rglob("*.py"):
        text = file.read_text()
        if "state_colour(" in text and "def state_colour" not in text:
            assert "state_look(" in text, file.name


def test_curves_are_in_colours_that_all_eyes_tell_apart() -> None:
    assert set(CURVES) <= OKABE_ITO and len(set(CURVES)) == len(CURVES)
