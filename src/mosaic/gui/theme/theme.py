"""Theme: dresses the application in one of the palettes, and says when that changes."""

from __future__ import annotations

import dataclasses
import functools
import re
from importlib import resources
from pathlib import Path
from typing import Any

import qtawesome
from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, QTemporaryDir, Signal
from PySide6.QtGui import QColor, QCursor, QFont, QGuiApplication, QIcon, QPalette, QPixmapCache
from PySide6.QtWidgets import QApplication, QLabel, QProxyStyle

from mosaic.gui.theme import fonts, tokens
from mosaic.gui.theme.tip_place import Box, tip_place
from mosaic.gui.theme.tokens import DARK, LIGHT, Palette


def icon(name: str, colour: str, disabled: str = "") -> QIcon:
    """`name` as in Material Design Icons, for example "play-circle"."""
    found: QIcon = qtawesome.icon(
        f"mdi6.{name}", color=colour, **({"color_disabled": disabled} if disabled else {})
    )
    return found


SYSTEM = "system"
NAMES = (SYSTEM, DARK.name, LIGHT.name)
_CHECK_SIZE = QSize(24, 24)
_STYLED = "mosaic-styled"  # of the application, which tests share between windows


class Theme(QObject):
    """Dresses the application in one of the palettes, and says when that changes."""

    changed = Signal()

    def __init__(self, application: QApplication, name: str = SYSTEM) -> None:
        super().__init__()
        self._application = application
        self.name = name
        self.palette = _palette_of(name)
        hints = QGuiApplication.styleHints()
        hints.colorSchemeChanged.connect(self._on_scheme_changed)
        self._dress()

    def choose(self, name: str) -> None:
        """ "system", "dark" or "light"."""
        self.name = name if name in NAMES else SYSTEM
        self._refresh()

    def redraw(self) -> None:
        """Has every picture drawn again. Qt keeps each that a label was given, up to 10 MB of
        them, and those from before are never shown again."""
        QPixmapCache.clear()
        self.changed.emit()

    def icon(self, name: str, colour: str = "") -> QIcon:
        return icon(name, colour or self.palette.text, self.palette.muted)

    def state_colour(self, word: str) -> str:
        return tokens.state_colour(word, self.palette)

    @property
    def is_dark(self) -> bool:
        return self.palette.name == DARK.name

    def mono_font(self, size: int = tokens.FONT) -> QFont:
        return fonts.numbers(size)

    def _on_scheme_changed(self) -> None:
        if self.name == SYSTEM:
            self._refresh()

    def _refresh(self) -> None:
        palette = _palette_of(self.name)
        if palette is not self.palette:
            self.palette = palette
            self._dress()
            self.redraw()

    def _dress(self) -> None:
        sheet = style_sheet(self.palette, self._pictures())
        if sheet == self._application.styleSheet():
            return  # it wears this already, and dressing visits every widget
        if not self._application.property(_STYLED):
            # Once: Qt keeps something of every style that it is given.
            self._application.setStyle(_Style("Fusion"))
            self._application.setProperty(_STYLED, True)
        self._application.setFont(fonts.words(tokens.FONT))
        self._application.setPalette(_qt_palette(self.palette))
        self._application.setStyleSheet(sheet)

    def _pictures(self) -> dict[str, str]:
        """Paths of the small pictures that the style sheet names."""
        pictures = {
            "chevron": ("chevron-down", self.palette.muted),
            "check": ("check-bold", self.palette.on_accent),
            "tick": ("check", self.palette.text),
            "clear": ("close", self.palette.muted),
        }
        paths = {}
        for key, (name, colour) in pictures.items():
            path = Path(_picture_folder().path()) / f"{key}-{self.palette.name}.png"
            if not path.exists():
                icon(name, colour).pixmap(_CHECK_SIZE).save(str(path))
            paths[key] = path.as_posix()
        return paths


class _Style(QProxyStyle):
    """Tool tips show what they are given: names and messages come from runs, and Qt would take
    what looks like markup for markup, pictures and all. They are in nobody's way, and a click on
    one is a click on what is below it."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self._placer = _TipPlacer()

    def polish(self, what: Any, /) -> None:
        # Qt's own class, which has no text yet when it is polished for the first time.
        if isinstance(what, QLabel) and what.inherits("QTipLabel"):
            what.setTextFormat(Qt.TextFormat.PlainText)
            if not what.isVisible():  # changing it hides a window
                what.setWindowFlag(Qt.WindowType.WindowTransparentForInput)
            what.installEventFilter(self._placer)
        super().polish(what)


class _TipPlacer(QObject):
    """Puts a tool tip beside the control it is about, wherever Qt has put it."""

    _events = frozenset({QEvent.Type.Show, QEvent.Type.Move, QEvent.Type.Resize})
    _is_moving = False

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in self._events and isinstance(watched, QLabel) and not self._is_moving:
            control = QApplication.widgetAt(QCursor.pos())
            if control is not None and control is not watched:
                room = control.screen().availableGeometry()
                corner = control.mapToGlobal(QPoint(0, 0))
                left, top = tip_place(
                    _box(QRect(corner, control.size())), _box(watched.geometry()), _box(room)
                )
                self._is_moving = True
                watched.move(left, top)
                self._is_moving = False
        return False


def _box(rect: QRect) -> Box:
    return Box(rect.left(), rect.top(), rect.width(), rect.height())


@functools.cache
def _picture_folder() -> QTemporaryDir:
    """Style sheets take pictures from files only; these go with the program."""
    return QTemporaryDir()


def style_sheet(palette: Palette, pictures: dict[str, str]) -> str:
    template = resources.files("mosaic.gui.theme").joinpath("style.qss").read_text()
    values = {
        **dataclasses.asdict(palette),
        **pictures,
        "sans": _quoted(fonts.words(tokens.FONT)),
        "mono": _quoted(fonts.numbers(tokens.FONT)),
        "radius": tokens.RADIUS,
        "card_radius": tokens.CARD_RADIUS,
        "font": tokens.FONT,
        "caption": tokens.CAPTION,
        "section": tokens.SECTION,
        "title": tokens.TITLE,
    }
    return re.sub(r"\{([a-z_]+)\}", lambda match: str(values[match[1]]), template)


def _quoted(font: QFont) -> str:
    return ", ".join(f'"{family}"' for family in font.families())


def _palette_of(name: str) -> Palette:
    if name == SYSTEM:
        scheme = QGuiApplication.styleHints().colorScheme()
        return LIGHT if scheme == Qt.ColorScheme.Light else DARK
    return LIGHT if name == LIGHT.name else DARK


def _qt_palette(palette: Palette) -> QPalette:
    """For what style sheets do not reach."""
    found = QPalette()
    roles = QPalette.ColorRole
    for role, colour in (
        (roles.Window, palette.window),
        (roles.WindowText, palette.text),
        (roles.Base, palette.field),
        (roles.AlternateBase, palette.panel),
        (roles.Text, palette.text),
        (roles.Button, palette.raised),
        (roles.ButtonText, palette.text),
        (roles.ToolTipBase, palette.raised),
        (roles.ToolTipText, palette.text),
        (roles.Highlight, palette.accent),
        (roles.HighlightedText, palette.on_accent),
        (roles.PlaceholderText, palette.muted),
        (roles.Link, palette.accent),
    ):
        found.setColor(role, QColor(colour))
    for role in (roles.Text, roles.WindowText, roles.ButtonText):
        found.setColor(QPalette.ColorGroup.Disabled, role, QColor(palette.muted))
    return found
