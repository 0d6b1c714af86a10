"""A theme that is left takes its pictures with it."""

from __future__ import annotations

from PySide6.QtGui import QPixmap, QPixmapCache
from PySide6.QtWidgets import QApplication

from mosaic.gui.theme.theme import Theme

KEY = "a picture of the theme before"


def test_what_qt_keeps_of_a_theme_goes_when_another_is_chosen(qapp: QApplication) -> None:
    theme = Theme(qapp, "dark")
    kept = QPixmap(10, 10)
    assert QPixmapCache.insert(KEY, kept)
    theme.choose("dark")
    assert QPixmapCache.find(KEY, kept), "it is the same theme still"
    theme.choose("light")
    assert not QPixmapCache.find(KEY, kept)
    theme.choose("dark")
