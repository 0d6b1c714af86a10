"""PageBar: which charts are on the page, in how many columns, and its export."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QRegularExpression, QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QActionGroup, QKeyEvent
from PySide6.QtWidgets import QHBoxLayout, QLineEdit, QMenu, QToolButton, QWidget

from mosaic.gui.charts.export import ChartExport
from mosaic.gui.charts.model.page import MOST_COLUMNS, columns_from, substring
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import with_role

_ICON = QSize(16, 16)
_SETTING = "charts/columns"
_PAUSE_MS = 150  # somebody types
_MOST_WORK = "(*LIMIT_MATCH=20000)"  # a pattern that would take for ever fits nothing


class FilterField(QLineEdit):
    """Escape empties it first."""

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.text():
            self.clear()
            event.accept()
        else:
            super().keyPressEvent(event)


class PageBar(QWidget):
    filter_changed = Signal()
    columns_changed = Signal(int)  # 0: as many as have room

    def __init__(self, theme: Theme, settings: QSettings, export: ChartExport) -> None:
        super().__init__()
        self._theme, self._settings = theme, settings
        self.columns = columns_from(settings.value(_SETTING, 0))
        self.field = FilterField()
        self.field.setObjectName("charts-filter")
        self.field.setPlaceholderText("Filter metrics: words or a regex")
        self.field.setAccessibleName("Filter metrics")
        self.field.setToolTip(
            "Shows every metric that fits, for example: loss   or   ^charts/.*(return|length)$"
        )
        self.field.setClearButtonEnabled(True)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._pause.timeout.connect(self.filter_changed)
        self.field.textChanged.connect(lambda _: self._pause.start())
        self.columns_button = self._button("Columns")
        self.columns_button.setMenu(self._columns_menu())
        self.export_button = self._button("Save or copy all charts")
        self.export_button.setObjectName("charts-export")
        self.export_button.setMenu(export.menu(self.export_button))
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addWidget(self.field, 1)
        layout.addWidget(self.columns_button)
        layout.addWidget(self.export_button)
        theme.changed.connect(self._draw_icons)
        self._draw_icons()

    @property
    def filter_text(self) -> str:
        return self.field.text().strip()

    def fits(self) -> Callable[[str], bool]:
        """Which metrics the filter wants: words in any place, or a regular expression."""
        text = self.filter_text
        contains = substring(text)
        pattern = QRegularExpression(
            _MOST_WORK + text, QRegularExpression.PatternOption.CaseInsensitiveOption
        )
        if not pattern.isValid():
            return contains
        return lambda name: contains(name) or pattern.match(name).hasMatch()

    def stop(self) -> None:
        self._pause.stop()

    def _columns_menu(self) -> QMenu:
        menu = QMenu(self.columns_button)
        group = QActionGroup(menu)
        for count in range(MOST_COLUMNS + 1):
            text = "Automatic" if not count else f"{count} column{'s' if count > 1 else ''}"
            action = menu.addAction(text)
            action.setCheckable(True)
            action.setChecked(count == self.columns)
            group.addAction(action)
            action.triggered.connect(lambda _=False, count=count: self._on_columns(count))
        return menu

    def _on_columns(self, count: int) -> None:
        self.columns = count
        self._settings.setValue(_SETTING, str(count))
        self.columns_changed.emit(count)

    def _button(self, about: str) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setIconSize(_ICON)
        button.setToolTip(about)
        button.setAccessibleName(about)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button

    def _draw_icons(self) -> None:
        self.columns_button.setIcon(self._theme.icon("view-column-outline"))
        self.export_button.setIcon(self._theme.icon("export-variant"))
