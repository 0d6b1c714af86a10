"""ChartsToolbar: how all charts are drawn."""

from __future__ import annotations

import dataclasses

from PySide6.QtCore import QSettings, QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import (
    QBoxLayout,
    QComboBox,
    QHBoxLayout,
    QPushButton,
    QSlider,
    QToolButton,
    QWidget,
)

from mosaic.gui.state.chart_options import MAX_SMOOTHING, ChartOptions, XAxis, options_from
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(16, 16)
_SETTINGS = "charts/options"
_AXES = ((XAxis.STEPS, "steps"), (XAxis.TIME, "wall time"), (XAxis.EPISODES, "episodes"))
_PERCENT = 100
_ONE_ROW = 640  # wide enough for all controls side by side


class ChartsToolbar(QWidget):
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
        self.follow = self._tool("Follow: a chosen range moves on with the newest point")
        self.follow.setCheckable(True)
        self.fit = self._tool("Show everything (0, or a double click in the chart)")
        self._arrange()
        self._show(self.options)
        self.slider.valueChanged.connect(self._on_changed)
        self.axis.activated.connect(self._on_changed)
        for button in (self.log_x, self.log_y, self.band, self.follow):
            button.toggled.connect(self._on_changed)
        self.fit.clicked.connect(self.fit_asked)
        theme.changed.connect(self._draw_icons)
        self._draw_icons()

    def offer_bands(self, is_offered: bool) -> None:
        self.band.setVisible(is_offered)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        is_wide = self.width() >= _ONE_ROW
        directions = QBoxLayout.Direction
        self._rows.setDirection(directions.LeftToRight if is_wide else directions.TopToBottom)

    def _arrange(self) -> None:
        first, second = QHBoxLayout(), QHBoxLayout()
        for row in (first, second):
            row.setSpacing(6)
        first.addWidget(label("Smooth", "muted"))
        first.addWidget(self.slider, 1)
        first.addWidget(self._weight)
        for button in (self.follow, self.fit):
            first.addWidget(button)
        for widget in (self.axis, self.log_x, self.log_y, self.band):
            second.addWidget(widget)
        second.addStretch(1)
        self._rows = QBoxLayout(QBoxLayout.Direction.TopToBottom, self)
        self._rows.setContentsMargins(0, 0, 0, 0)
        self._rows.setSpacing(6)
        self._rows.addLayout(first)
        self._rows.addLayout(second)

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

    def _on_changed(self, _: object = None) -> None:
        self.options = ChartOptions(
            smoothing=self.slider.value() / _PERCENT,
            x_axis=XAxis(self.axis.currentData()),
            is_log_x=self.log_x.isChecked(),
            is_log_y=self.log_y.isChecked(),
            seeds_as_band=self.band.isChecked(),
            is_following=self.follow.isChecked(),
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
