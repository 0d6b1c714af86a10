"""NumberAxis: an axis whose numbers are short and whose grid is hardly there."""

from __future__ import annotations

import pyqtgraph
from PySide6.QtCore import QRectF

from mosaic.gui.state.chart_numbers import log_tick_texts, log_ticks, tick_texts
from mosaic.gui.theme import tokens
from mosaic.gui.theme.tokens import Palette

_GRID_ALPHA = 110  # of 255
_LABEL_EVERY_PX = 70
_LABEL_EVERY_PX_UPWARDS = 34
_NUMBERS_WIDTH = 40
_TICK_DENSITY = 1.35
_OVER_THE_EDGE_PX = 14  # half of a number; the plot has as much room around it
_HEIGHT = 20


class NumberAxis(pyqtgraph.AxisItem):  # type: ignore[misc]
    """Without a title: titles are labels beside the plot, which can be elided."""

    def __init__(self, orientation: str) -> None:
        super().__init__(orientation)
        self.enableAutoSIPrefix(False)
        # Numbers that become longer may need room once; shorter ones must not move the plot.
        self.setStyle(
            maxTickLevel=0,
            tickLength=0,
            autoReduceTextSpace=False,
            tickTextWidth=_NUMBERS_WIDTH,
        )
        self.setTickDensity(_TICK_DENSITY)
        if orientation == "bottom":
            self.setHeight(_HEIGHT)
        else:
            self.textWidth = _NUMBERS_WIDTH

    def dress(self, palette: Palette) -> None:
        self.setPen(None)  # the frame of the plot is line enough
        self.setTickPen(palette.line)
        self.setTextPen(palette.muted)
        font = self.font()
        font.setPixelSize(tokens.CAPTION)
        self.setTickFont(font)
        self.setGrid(_GRID_ALPHA)

    def boundingRect(self) -> QRectF:
        """Numbers may reach over the ends of the axis; those that do not fit are left out."""
        beyond = _OVER_THE_EDGE_PX
        found: QRectF = super().boundingRect().adjusted(-beyond, -beyond, beyond, beyond)
        return found

    def tickStrings(self, values: list[float], scale: float, spacing: float) -> list[str]:
        if self.logMode:
            return log_tick_texts(values)
        return tick_texts([value * scale for value in values], spacing * scale)

    def logTickValues(
        self, low: float, high: float, size: float, _: object
    ) -> list[tuple[float, list[float]]]:
        upwards = self.orientation == "left"
        every = _LABEL_EVERY_PX_UPWARDS if upwards else _LABEL_EVERY_PX
        return [(1.0, log_ticks(low, high, max(2, int(size / every))))]
