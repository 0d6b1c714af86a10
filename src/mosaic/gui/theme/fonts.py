"""The window's own fonts: it looks alike on every machine, also on one that has no font at all."""

from __future__ import annotations

import functools
from pathlib import Path

from PySide6.QtGui import QFont, QFontDatabase

# Subsets of Inter and JetBrains Mono (their licence is beside them): `tools/subset_fonts.py`.
SANS, MONO = "MOSAIC Sans", "MOSAIC Mono"
FOLDER = Path(__file__).with_name("font_files")


def words(size: int) -> QFont:
    """What the window is written in."""
    return _font((SANS, MONO), size)


def numbers(size: int) -> QFont:
    """Every character as wide as the next: numbers, logs, code."""
    return _font((MONO, SANS), size)


def _font(families: tuple[str, ...], size: int) -> QFont:
    """The second family has signs that the first has not; then comes what the machine has."""
    load()
    font = QFont()
    font.setFamilies(families)
    font.setPixelSize(size)
    # Sharp lines, but letters as wide as they are: how much a machine hints is its own setting.
    font.setHintingPreference(QFont.HintingPreference.PreferVerticalHinting)
    return font


@functools.cache
def load() -> None:
    """Once for each process, when there is an application."""
    for file in sorted(FOLDER.glob("*.[ot]tf")):
        # By their bytes: an update may replace the files below a window that is open.
        QFontDatabase.addApplicationFontFromData(file.read_bytes())
