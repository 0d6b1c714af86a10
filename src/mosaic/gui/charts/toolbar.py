"""The controls above the charts: how they are drawn, and which can be added or removed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from PySide6.QtCore import QPoint, QSettings, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QSlider,
    QToolButton,
    QWidget,
)
from superqt.utils import QFlowLayout

from mosaic.gui.charts.model.metrics import Chip, chips_of, prefix_of, ranked
from mosaic.gui.charts.model.picture import MAX_SMOOTHING, ChartOptions, XAxis, options_from
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(16, 16)
_SETTINGS = "charts/options"
_AXES = ((XAxis.STEPS, "steps"), (XAxis.TIME, "wall time"), (XAxis.EPISODES, "episodes"))
_PERCENT = 100
_ONE_ROW = 760  # wide enough for all controls side by side


class ChartsToolbar(QWidget):
    """How all charts are drawn."""

    changed = Signal(object)  # ChartOptions
    fit_asked = Signal()

    def __init__(self, theme: Theme, settings: QSettings) -> None:
        super().__init__()
        self._theme, self._settings = theme, settings
        self.options = self._remembered()
        self.slider = QSlider(Qt.Orientation.Horizontal)
        self.slider.setRange(0, int(MAX_SMOOTHING * _PERCENT))
        self.slider.setPageStep(10)
        self.slider.setMinimumWidth(88)
        self.slider.setAccessibleName("Smoothing")
        self.slider.setToolTip("Smoothing, as in TensorBoard: 0 shows the values as they are")
        self._weight = label("", "number")
        self._weight.setFixedWidth(self._weight.fontMetrics().horizontalAdvance("0.000") + 4)
        self.axis = QComboBox()
        for axis, text in _AXES:
            self.axis.addItem(text, axis.value)
        self.axis.setAccessibleName("Horizontal axis")
        self.axis.setToolTip("What is to the right")
        self.log_x = self._toggle("log x", "Logarithmic horizontal axis")
        self.log_y = self._toggle("log y", "Logarithmic vertical axis")
        self.band = self._toggle(
            "Seeds as band", "Runs that differ only in their seed as one curve with its spread"
        )
        self.from_start = self._toggle(
            "From the start",
            "The curve of a resumed run begins with the runs it continues; dashed where it resumed",
        )
        self.follow = self._tool("Follow: a chosen range moves on with the newest point")
        self.follow.setCheckable(True)
        self.fit = self._tool("Show everything (0, or a right click in the chart)")
        self._arrange()
        self._show(self.options)
        self.slider.valueChanged.connect(self._on_changed)
        self.axis.activated.connect(self._on_changed)
        for button in (self.log_x, self.log_y, self.band, self.from_start, self.follow):
            button.toggled.connect(self._on_changed)
        self.fit.clicked.connect(self.fit_asked)
        theme.changed.connect(self._draw_icons)
        self._draw_icons()

    def offer(self, *, bands: bool, ancestors: bool) -> None:
        """What can be switched for the runs that are shown."""
        self.band.setVisible(bands)
        self.from_start.setVisible(ancestors)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= _ONE_ROW
        directions = QBoxLayout.Direction
        self._rows.setDirection(directions.LeftToRight if is_wide else directions.TopToBottom)

    def _arrange(self) -> None:
        first, switches = QHBoxLayout(), QWidget()
        first.setSpacing(6)
        second = QFlowLayout(switches)  # in a narrow window, below each other
        second.setContentsMargins(0, 0, 0, 0)
        second.setHorizontalSpacing(6)
        second.setVerticalSpacing(6)
        first.addWidget(label("Smooth", "muted"))
        first.addWidget(self.slider, 1)
        first.addWidget(self._weight)
        for button in (self.follow, self.fit):
            first.addWidget(button)
        for widget in (self.axis, self.log_x, self.log_y, self.band, self.from_start):
            second.addWidget(widget)
        self._rows = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(6)
        self._rows.addLayout(first, 2)
        self._rows.addWidget(switches, 3)

    def _toggle(self, text: str, about: str) -> QPushButton:
        button = with_role(QPushButton(text), "toggle")
        button.setCheckable(True)
        button.setToolTip(about)
        return button

    def _tool(self, about: str) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setIconSize(_ICON)
        button.setToolTip(about)
        button.setAccessibleName(about.partition(":")[0].partition(" (")[0])
        return button

    def _show(self, options: ChartOptions) -> None:
        self.slider.setValue(round(options.smoothing * _PERCENT))
        self._weight.setText(f"{options.smoothing:.2f}")
        self.axis.setCurrentIndex(self.axis.findData(options.x_axis.value))
        self.log_x.setChecked(options.is_log_x)
        self.log_y.setChecked(options.is_log_y)
        self.band.setChecked(options.seeds_as_band)
        self.follow.setChecked(options.is_following)
        self.from_start.setChecked(options.from_the_start)

    def _on_changed(self, _: object = None) -> None:
        self.options = ChartOptions(
            smoothing=self.slider.value() / _PERCENT,
            x_axis=XAxis(self.axis.currentData()),
            is_log_x=self.log_x.isChecked(),
            is_log_y=self.log_y.isChecked(),
            seeds_as_band=self.band.isChecked(),
            is_following=self.follow.isChecked(),
            from_the_start=self.from_start.isChecked(),
        )
        self._weight.setText(f"{self.options.smoothing:.2f}")
        for name, value in dataclasses.asdict(self.options).items():
            self._settings.setValue(f"{_SETTINGS}/{name}", str(value))
        self.changed.emit(self.options)

    def _remembered(self) -> ChartOptions:
        names = [field.name for field in dataclasses.fields(ChartOptions)]
        return options_from(
            {
                name: self._settings.value(f"{_SETTINGS}/{name}")
                for name in names
                if self._settings.contains(f"{_SETTINGS}/{name}")
            }
        )

    def _draw_icons(self) -> None:
        self.follow.setIcon(self._theme.icon("arrow-expand-right"))
        self.fit.setIcon(self._theme.icon("fit-to-page-outline"))


_OTHERS = "other"


class ChartChips(QWidget):
    """Charts to add or remove with one click, and the list of all others."""

    added = Signal(tuple)  # names
    removed = Signal(tuple)

    def __init__(self) -> None:
        super().__init__()
        self._names: tuple[str, ...] = ()
        self._shown: tuple[str, ...] = ()
        self._chips: list[Chip] = []
        self._buttons: dict[str, QPushButton] = {}
        self._layout = QFlowLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setHorizontalSpacing(4)
        self._layout.setVerticalSpacing(4)
        self.add_button = with_role(QPushButton("+ add chart"), "chip")
        self.add_button.setToolTip("Every metric that is not shown yet")
        self.add_button.clicked.connect(self._on_add)
        self.menu = QMenu(self)

    @property
    def titles(self) -> tuple[str, ...]:
        return tuple(chip.title for chip in self._chips)

    def button(self, title: str) -> QPushButton:
        return self._buttons[title]

    def show_charts(self, names: Sequence[str], shown: Sequence[str]) -> None:
        if (tuple(names), tuple(shown)) == (self._names, self._shown):
            return
        self._names, self._shown = tuple(names), tuple(shown)
        self._chips = chips_of(names, shown)
        if [chip.title for chip in self._chips] != list(self._buttons):
            self._rebuild()
        for chip in self._chips:
            button = self._buttons[chip.title]
            button.setChecked(chip.is_shown)
            verb = "Remove" if chip.is_shown else "Add"
            button.setToolTip(f"{verb} {', '.join(chip.names)}")
        self.add_button.setEnabled(bool(set(names) - set(shown)))

    def _rebuild(self) -> None:
        self._layout.removeWidget(self.add_button)
        for button in self._buttons.values():
            self._layout.removeWidget(button)
            button.hide()
            button.deleteLater()
        self._buttons = {}
        for chip in self._chips:
            button = with_role(QPushButton(chip.title), "chip")
            button.setCheckable(True)
            button.clicked.connect(lambda _=False, title=chip.title: self._on_clicked(title))
            self._buttons[chip.title] = button
            self._layout.addWidget(button)
        self._layout.addWidget(self.add_button)

    def _on_clicked(self, title: str) -> None:
        chip = next(chip for chip in self._chips if chip.title == title)
        self._buttons[title].setChecked(chip.is_shown)  # until it has really changed
        (self.removed if chip.is_shown else self.added).emit(chip.names)

    def _on_add(self) -> None:
        self.menu.clear()
        groups: dict[str, list[str]] = {}
        for name in ranked(set(self._names) - set(self._shown)):
            groups.setdefault(prefix_of(name), []).append(name)
        for group, names in groups.items():
            menu = self.menu.addMenu(group or _OTHERS) if len(groups) > 1 else self.menu
            for name in names:
                action = menu.addAction(name.replace("&", "&&"))
                action.triggered.connect(lambda _=False, name=name: self.added.emit((name,)))
        self.menu.popup(self.add_button.mapToGlobal(QPoint(0, self.add_button.height() + 2)))
