"""ValueMapView: a map with what is known there, its layers, a legend, and words for a cell."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSignalBlocker, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFontMetrics, QLinearGradient, QPainter, QPaintEvent
from PySide6.QtWidgets import QCheckBox, QComboBox, QHBoxLayout, QSizePolicy, QVBoxLayout, QWidget

from mosaic.contracts.agents import MapLine, ValuesLine
from mosaic.front.human import decimal
from mosaic.gui.theme import fonts, tokens
from mosaic.gui.theme.theme import Theme
from mosaic.gui.value_map.canvas import MapCanvas
from mosaic.gui.value_map.model import (
    MapView,
    Scale,
    Walk,
    best_known_layer,
    colour_of,
    map_view,
    plain,
)
from mosaic.gui.widgets.roles import label

_LEGEND_HEIGHT = 18
_RAMP = QSize(96, 10)
_NARROWEST_RAMP = 16
_RAMP_STOPS = 16
_NEVER_MET = "never met"
_WORD_LINES = 2


class ValueMapView(QWidget):
    """Shows what it is given; a click on a cell, or Enter, is told to whoever listens."""

    cell_clicked = Signal(int)  # its index, row by row

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._map: MapLine | None = None
        self._values: ValuesLine | None = None
        self._walk: Walk | None = None
        self._view: MapView | None = None
        self._click_help = ""
        self._has_chosen = False  # a layer: somebody, or the agent that is followed
        self.layers = QComboBox()
        self.layers.setAccessibleName("Layer of the map")
        self.layers.setSizeAdjustPolicy(
            QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon
        )
        self.layers.setMinimumContentsLength(8)
        self.layers.activated.connect(self._on_layer)
        self.follow = QCheckBox("Follow")
        self.follow.setAccessibleName("Follow the agent into other layers")
        self.follow.setToolTip("Shows the layer that the agent is in")
        self.follow.setChecked(True)
        self.follow.toggled.connect(self._on_follow)
        self.canvas = MapCanvas(theme)
        self.canvas.cell_clicked.connect(self.cell_clicked)
        self.canvas.looked_at.connect(self._on_looked_at)
        self.legend = _Legend(theme)
        self.words = label(role="caption")
        self.words.setWordWrap(True)
        self.words.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        # Its place is kept: a map that moves below the pointer cannot be pointed at.
        self.words.setMinimumHeight(_WORD_LINES * QFontMetrics(fonts.words(11)).lineSpacing() + 2)
        self.words.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self._bar = QWidget()
        bar = QHBoxLayout(self._bar)
        bar.setContentsMargins(0, 0, 0, 0)
        bar.setSpacing(tokens.GAP)
        bar.addWidget(self.layers, 1)
        bar.addWidget(self.follow)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(tokens.GRID)
        layout.addWidget(self._bar)
        layout.addWidget(self.canvas, 1)
        layout.addWidget(self.legend)
        layout.addWidget(self.words)
        self._bar.hide()

    @property
    def layer(self) -> int:
        return max(0, self.layers.currentIndex())

    @property
    def view(self) -> MapView | None:
        return self._view

    def show_map(self, map: MapLine | None) -> None:
        """Values, layer and place of another map are forgotten."""
        if map == self._map:
            return
        self._map, self._values = map, None
        self._walk = None if map is None else Walk(map)
        self._has_chosen = False
        self.follow.hide()
        names = () if map is None else map.layers
        with QSignalBlocker(self.layers):
            self.layers.clear()
            for number, name in enumerate(names, 1):
                self.layers.addItem(plain(name) or f"layer {number}")
        self._bar.setVisible(len(names) > 1)
        self.canvas.show_walk(self._walk)
        self._refresh()

    def show_values(self, values: ValuesLine | None) -> None:
        """As long as nobody has chosen a layer, it is the one that most is known of."""
        if values is self._values:
            return
        self._values = values
        if self._map is not None and values is not None and not self._has_chosen:
            with QSignalBlocker(self.layers):
                self.layers.setCurrentIndex(best_known_layer(self._map, values))
        self._refresh()

    def show_layer(self, layer: int) -> None:
        self._has_chosen = True
        if layer != self.layer and 0 <= layer < self.layers.count():
            with QSignalBlocker(self.layers):
                self.layers.setCurrentIndex(layer)
            self._refresh()

    def show_state(self, state: int | None) -> None:
        """Where the agent is; None, or a state that is nowhere: it is not shown."""
        if self._walk is None:
            return
        self._walk.go(state)
        if self._walk.layer is not None:
            self.follow.show()
        if self.follow.isChecked() and self._walk.layer is not None:
            self.show_layer(self._walk.layer)
        self.canvas.show_walk(self._walk)

    def show_click_help(self, text: str) -> None:
        """What a click on a cell with a target does; empty: nothing."""
        self._click_help = text
        self._on_looked_at(self.canvas.cell_looked_at)

    def _refresh(self) -> None:
        self._view = None if self._map is None else map_view(self._map, self._values, self.layer)
        self.legend.show_scale(None if self._view is None else self._view.scale)
        self.canvas.show_view(self._view)

    def _on_layer(self) -> None:
        """Whoever chooses a layer wants to go on looking at it."""
        self._has_chosen = True
        self.follow.setChecked(False)
        self._refresh()

    def _on_follow(self, is_followed: bool) -> None:
        if is_followed and self._walk is not None and self._walk.layer is not None:
            self.show_layer(self._walk.layer)

    def _on_looked_at(self, index: int | None) -> None:
        view = self._view
        if view is None or index is None:
            self.words.setText("" if view is None else view.summary())
            self.canvas.unsetCursor()
            return
        does_something = bool(self._click_help and view.map.targets[index])
        if does_something:
            self.canvas.setCursor(Qt.CursorShape.PointingHandCursor)
        else:
            self.canvas.unsetCursor()
        told = view.words(index) + (f" · {self._click_help}" if does_something else "")
        self.words.setText(told)
        self.canvas.setAccessibleDescription(told)


class _Legend(QWidget):
    """Which colour is how much, and how a cell looks that was never met."""

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._scale: Scale | None = None
        self.setFixedHeight(_LEGEND_HEIGHT)
        theme.changed.connect(self.update)

    def show_scale(self, scale: Scale | None) -> None:
        self._scale = scale
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        scale, palette = self._scale, self._theme.palette
        if scale is None:
            return
        with QPainter(self) as painter:
            painter.setFont(fonts.numbers(tokens.CAPTION))
            at = 0.0
            if scale.low < scale.high:
                high = decimal(scale.high)
                at = self._word(painter, at, decimal(scale.low))
                room = self.width() - at - painter.fontMetrics().horizontalAdvance(high) - 8
                width = max(_NARROWEST_RAMP, min(_RAMP.width(), room))
                ramp = QRectF(at, (self.height() - _RAMP.height()) / 2, width, _RAMP.height())
                gradient = QLinearGradient(ramp.topLeft(), ramp.topRight())
                for stop in range(_RAMP_STOPS + 1):
                    place = stop / _RAMP_STOPS
                    value = scale.low * (1 - place) + scale.high * place
                    gradient.setColorAt(place, QColor(colour_of(scale.share(value), palette)))
                painter.fillRect(ramp, gradient)
                painter.setPen(QColor(palette.line))
                painter.drawRect(ramp)
                at = self._word(painter, ramp.right() + 6, high)
            else:
                at = self._word(painter, at, f"{decimal(scale.low)} everywhere")
            last = painter.fontMetrics().horizontalAdvance(_NEVER_MET) + 26
            if at + 10 + last > self.width():
                return  # cut off it would say nothing; the words below count those cells
            swatch = QRectF(at + 10, (self.height() - 10) / 2, 10, 10)
            painter.fillRect(swatch, QColor(palette.panel))
            painter.fillRect(swatch, QBrush(QColor(palette.muted), Qt.BrushStyle.BDiagPattern))
            painter.setPen(QColor(palette.line))
            painter.drawRect(swatch)
            painter.setFont(fonts.words(tokens.CAPTION))
            self._word(painter, swatch.right() + 6, _NEVER_MET)

    def _word(self, painter: QPainter, left: float, text: str) -> float:
        """Returns where it ends, with a little room behind."""
        painter.setPen(QColor(self._theme.palette.muted))
        width = painter.fontMetrics().horizontalAdvance(text)
        where = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
        painter.drawText(QRectF(left, 0, width + 2, self.height()), where, text)
        return left + width + 6
