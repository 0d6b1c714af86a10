"""The window brings its fonts along: it looks alike whatever fonts the machine has, or none."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtGui import QFontInfo, QFontMetrics, QRawFont
from PySide6.QtWidgets import QApplication

from mosaic import gui
from mosaic.gui.theme import fonts
from tests.gui.conftest import FONT

pytestmark = pytest.mark.skipif(FONT in os.environ, reason="this is about the window's own fonts")
_HEAD = '<?xml version="1.0"?><!DOCTYPE fontconfig SYSTEM "urn:fontconfig:fonts.dtd">'
NO_FONTS = f"{_HEAD}<fontconfig></fontconfig>"
# A desktop that bends letters to the pixels as far as possible, which makes them wider.
HINTED = f"""{_HEAD}<fontconfig><dir>/usr/share/fonts</dir><match target="font">
<edit name="hintstyle" mode="assign"><const>hintfull</const></edit></match></fontconfig>"""

# For control characters in logs; where no font has them a box says as much.
STAND_INS = {chr(code) for code in range(0x2400, 0x2440)}


@pytest.fixture(scope="module")
def usual(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """As the window is with the fonts of this machine."""
    return texts_of_window(tmp_path_factory.mktemp("usual"))


def texts_of_window(folder: Path, fontconfig: str = "", **variables: str) -> dict[str, Any]:
    environment = {**os.environ, "QT_QPA_PLATFORM": "offscreen", **variables}
    if fontconfig:
        (folder / "fonts.conf").write_text(fontconfig)
        environment["FONTCONFIG_FILE"] = str(folder / "fonts.conf")
        environment["XDG_CACHE_HOME"] = str(folder)
    found = subprocess.run(
        [sys.executable, "-m", "tests.gui.font_program", str(folder / "home")],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )
    result: dict[str, Any] = json.loads(found.stdout)
    return result


def test_every_text_is_in_a_font_of_its_own(usual: dict[str, Any]) -> None:
    assert usual["families"] == sorted([fonts.SANS, fonts.MONO])
    assert usual["blank"] == []


def assert_alike(found: dict[str, Any], usual: dict[str, Any]) -> None:
    assert (found["families"], found["blank"]) == (usual["families"], usual["blank"])
    # Some texts come a moment later, as how much room the disk has left.
    both = found["sizes"].keys() & usual["sizes"].keys()
    assert len(both) > 30
    assert {text: found["sizes"][text] for text in both} == {
        text: usual["sizes"][text] for text in both
    }


def test_without_any_font_on_the_machine_nothing_changes(
    usual: dict[str, Any], tmp_path: Path
) -> None:
    assert_alike(texts_of_window(tmp_path, NO_FONTS), usual)


def test_hinting_of_the_machine_makes_no_text_wider(usual: dict[str, Any], tmp_path: Path) -> None:
    assert_alike(texts_of_window(tmp_path, HINTED), usual)


def test_on_a_real_screen_texts_are_as_large(
    usual: dict[str, Any], tmp_path: Path, x_server: str
) -> None:
    found = texts_of_window(tmp_path, NO_FONTS, QT_QPA_PLATFORM="xcb", DISPLAY=x_server)
    assert_alike(found, usual)


def test_words_may_be_half_bold_and_are_not_thickened_for_it(qapp: QApplication) -> None:
    font = fonts.words(13)
    light = QFontMetrics(font).horizontalAdvance("Training")
    font.setWeight(font.Weight.DemiBold)
    assert QFontInfo(font).family() == fonts.SANS
    assert QFontMetrics(font).horizontalAdvance("Training") > light


def test_every_sign_of_the_window_is_in_one_of_its_fonts(qapp: QApplication) -> None:
    known = [QRawFont.fromFont(fonts.words(13)), QRawFont.fromFont(fonts.numbers(13))]
    signs = {sign for text in written_texts() for sign in text if sign.isprintable()} - STAND_INS
    assert {"…", "·", "▾"} <= signs
    lacking = [s for s in signs if not any(font.supportsCharacter(ord(s)) for font in known)]
    assert lacking == []


def written_texts() -> list[str]:
    """All that the code of the window says itself."""
    modules = Path(gui.__file__).parent.rglob("*.py")
    trees = [ast.parse(module.read_text()) for module in modules]
    constants = [
        item for tree in trees for item in ast.walk(tree) if isinstance(item, ast.Constant)
    ]
    return [item.value for item in constants if isinstance(item.value, str)]
