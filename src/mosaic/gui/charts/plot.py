"""CurvePlot: curves with axes and a legend; reads values below the pointer, zooms, is exported."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pyqtgraph
from PySide6.QtCore import QPoint, QRect, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QBrush,
    QColor,
    QFontMetrics,
    QImage,
    QPainter,
    QPaintEvent,
    QPen,
    QResizeEvent,
)
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from mosaic.gui.charts.model.curve import (
    Curve,
    Range,
    numbers,
    on_axis,
    panned,
    reading_at,
    x_range,
    y_range,
    zoomed,
)
from mosaic.gui.charts.model.number_texts import value_text, x_text
from mosaic.gui.charts.plot_area import CurveItems, PlotArea
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import eliding_label, label, with_role

_ROW = 22
_COLUMN = 250  # at least so wide
_SWATCH = QSize(12, 3)
_BAND = QSize(12, 9)
_VALUE_WIDTH = 76
_GAP = 8
_MAX_ROWS = 4


class LegendEntry(QAbstractButton):
    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._note = self._value = ""
        self._colour = ""
        self._is_band = False
        self.setCheckable(True)
        self.setChecked(True)
        self.setFixedHeight(_ROW)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        theme.changed.connect(self.update)

    def show_curve(self, curve: Curve) -> None:
        self._colour, self._note, self._is_band = curve.colour, curve.note, curve.is_band
        self.setText(curve.label)
        self.setAccessibleName(f"Curve of {curve.label}")
        about = f"{curve.label} ({curve.note})" if curve.note else curve.label
        if curve.level is not None:
            self.setToolTip(f"{curve.label}: {curve.value_name}\nClick to hide or show")
            self.update()
            return
        if curve.is_band:
            about += "\nLine: interquartile mean; band: lowest to highest seed"
        if len(curve.marker_xs):
            about += "\nDiamonds: evaluations"
        if len(curve.joints):
            about += "\nDashed: here the run was resumed; what is to the left is of the run before"
        about += f"\nNumber: {curve.value_name}; below the pointer, the value there"
        self.setToolTip(f"{about}\nClick to hide or show")
        self.update()

    def show_value(self, text: str) -> None:
        if text != self._value:
            self._value = text
            self.update()

    @property
    def value(self) -> str:
        return self._value

    @property
    def note(self) -> str:
        return self._note

    def sizeHint(self) -> QSize:
        return QSize(_COLUMN, _ROW)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, _ROW)

    def paintEvent(self, event: QPaintEvent) -> None:
        palette = self._theme.palette
        with QPainter(self) as painter:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            if self.hasFocus() or self.underMouse():
                painter.setPen(QColor(palette.accent) if self.hasFocus() else Qt.PenStyle.NoPen)
                painter.setBrush(QColor(palette.hover))
                painter.drawRoundedRect(self.rect().adjusted(0, 0, -1, -1), 4, 4)
            is_on = self.isChecked()
            self._paint_swatch(painter, QColor(self._colour), is_on)
            text_left = 4 + _SWATCH.width() + _GAP
            room = self.width() - text_left - _VALUE_WIDTH - _GAP
            painter.setPen(QColor(palette.text if is_on else palette.muted))
            metrics = QFontMetrics(self.font())
            note_width = metrics.horizontalAdvance(self._note) + _GAP if self._note else 0
            name = metrics.elidedText(
                self.text(), Qt.TextElideMode.ElideMiddle, max(24, room - note_width)
            )
            middle = Qt.AlignmentFlag.AlignVCenter
            painter.drawText(QRect(text_left, 0, room, self.height()), middle, name)
            if self._note:
                painter.setPen(QColor(palette.muted))
                left = text_left + metrics.horizontalAdvance(name) + _GAP
                painter.drawText(QRect(left, 0, note_width, self.height()), middle, self._note)
            painter.setPen(QColor(palette.text if is_on else palette.muted))
            painter.setFont(self._theme.mono_font(12))
            value_rect = QRect(self.width() - _VALUE_WIDTH - 4, 0, _VALUE_WIDTH, self.height())
            painter.drawText(value_rect, middle | Qt.AlignmentFlag.AlignRight, self._value)

    def _paint_swatch(self, painter: QPainter, colour: QColor, is_on: bool) -> None:
        if not is_on:
            colour = QColor(self._theme.palette.line)
        middle = self.height() // 2
        painter.setPen(Qt.PenStyle.NoPen)
        if self._is_band:
            pale = QColor(colour)
            pale.setAlphaF(0.35)
            painter.setBrush(pale)
            painter.drawRect(4, middle - _BAND.height() // 2, _BAND.width(), _BAND.height())
        painter.setBrush(colour)
        painter.drawRect(4, middle - 1, _SWATCH.width(), _SWATCH.height())


class Legend(QScrollArea):
    """Which colour is which run, with its value; a click hides a curve or shows it again."""

    toggled = Signal(str, bool)  # id of the curve, whether it is shown

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        self._theme = theme
        self._entries: dict[str, LegendEntry] = {}
        self._columns = 0
        self._inner = with_role(QWidget(), "plain")
        self._grid = QGridLayout(self._inner)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(_GAP)
        self._grid.setVerticalSpacing(0)
        self.setWidget(self._inner)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFixedHeight(0)

    @property
    def entries(self) -> Mapping[str, LegendEntry]:
        return self._entries

    def show_curves(self, curves: Sequence[Curve], hidden: set[str]) -> None:
        wanted = [curve.id for curve in curves]
        if wanted != list(self._entries):
            self._rebuild(wanted)
        for curve in curves:
            entry = self._entries[curve.id]
            entry.show_curve(curve)
            entry.setChecked(curve.id not in hidden)

    def show_values(self, values: Mapping[str, float | None]) -> None:
        for curve_id, entry in self._entries.items():
            entry.show_value(value_text(values.get(curve_id)))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def _rebuild(self, wanted: list[str]) -> None:
        kept = {curve_id: self._entries.pop(curve_id, None) for curve_id in wanted}
        for entry in self._entries.values():
            self._grid.removeWidget(entry)
            entry.hide()
            entry.deleteLater()
        self._entries = {
            curve_id: entry or self._new_entry(curve_id) for curve_id, entry in kept.items()
        }
        self._columns = 0
        self._arrange()

    def _new_entry(self, curve_id: str) -> LegendEntry:
        entry = LegendEntry(self._theme)
        entry.clicked.connect(lambda on, curve_id=curve_id: self.toggled.emit(curve_id, on))
        return entry

    def _arrange(self) -> None:
        count = len(self._entries)
        columns = max(1, min(count or 1, self.viewport().width() // _COLUMN))
        rows = -(-count // columns)
        self.setFixedHeight(min(rows, _MAX_ROWS) * _ROW)
        if columns == self._columns:
            return
        self._columns = columns
        for column in range(self._grid.columnCount()):
            self._grid.setColumnStretch(column, 1 if column < columns else 0)
        for index, entry in enumerate(self._entries.values()):
            # Down the columns, so that a list stays a list.
            self._grid.addWidget(entry, index % rows, index // rows)
        for column in range(columns):
            self._grid.setColumnStretch(column, 1)


_MIN_PLOT_HEIGHT = 160
WHEEL_HINT = "Ctrl + wheel zooms"
HOW_TO_ZOOM = (
    "Drag over a part to see it larger; a right click shows everything again.\n"
    "Ctrl + wheel zooms, and so does the wheel alone after a click into the plot."
)
_DOT_PX = 6
EXPORT_SCALE = 2


class CurvePlot(QWidget):
    """Shows all there is until somebody zooms; then the heights fit what is in sight."""

    enlarge_asked = Signal()
    range_chosen = Signal(object)  # (begin, end) of x as the curves have it; None: everything

    def __init__(self, theme: Theme, x_title: str = "steps", y_title: str = "") -> None:
        super().__init__()
        self._theme = theme
        self._curves: tuple[Curve, ...] = ()
        self._references: tuple[Curve, ...] = ()
        self._items: dict[str, CurveItems] = {}
        self._hidden: set[str] = set()
        self._is_log_x = self._is_log_y = False
        self._axis = "steps"
        self._chosen: Range | None = None  # on the axis
        self._hover_x: float | None = None
        self.area = PlotArea(theme)
        self.area.setMinimumHeight(_MIN_PLOT_HEIGHT)
        self.area.setAccessibleName("Curves; plus and minus zoom, arrows move, 0 shows everything")
        self.legend = Legend(theme)
        self._y_title = eliding_label(y_title, "caption")
        self._pointer_text = label("", "caption")
        self._x_title = label(x_title, "caption")
        self._x_title.setAlignment(Qt.AlignmentFlag.AlignRight)
        # Not on the curves themselves: a tool tip would cover what is read there.
        self._x_title.setToolTip(HOW_TO_ZOOM)
        self._dots = pyqtgraph.ScatterPlotItem(pxMode=True)
        self._dots.setZValue(10)
        self.area.getPlotItem().addItem(self._dots, ignoreBounds=True)
        top = QHBoxLayout()
        top.setContentsMargins(4, 0, 4, 0)
        top.addWidget(self._y_title, 1)
        top.addWidget(self._pointer_text)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(2)
        layout.addLayout(top)
        layout.addWidget(self.area, 1)
        layout.addWidget(self._x_title)
        layout.addWidget(self.legend)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Expanding)
        self.area.hovered.connect(self._on_hovered)
        self.area.region_dragged.connect(self._on_region_dragged)
        self.area.zoom_asked.connect(self._on_zoom_asked)
        self.area.pan_asked.connect(self._on_pan_asked)
        self.area.reset_asked.connect(self.show_everything)
        self.area.double_clicked.connect(self._on_double_clicked)
        self.area.wheel_refused.connect(self._on_wheel_refused)
        self.legend.toggled.connect(self._on_toggled)
        theme.changed.connect(self._redraw)

    # What it shows

    def show_curves(self, curves: Sequence[Curve]) -> None:
        self._curves = tuple(curves)
        self._show_all()

    def show_references(self, references: Sequence[Curve]) -> None:
        """Levels that the curves are measured by."""
        if [one.id for one in references] != [one.id for one in self._references] or any(
            new.level != old.level for new, old in zip(references, self._references, strict=True)
        ):
            self._references = tuple(references)
            self._show_all()

    def _show_all(self) -> None:
        shown = (*self._curves, *self._references)
        wanted = {curve.id for curve in shown}
        for curve_id in [known for known in self._items if known not in wanted]:
            self._items.pop(curve_id).remove()
        self.legend.show_curves(shown, self._hidden)
        self._redraw()

    def set_titles(self, x_title: str, y_title: str) -> None:
        self._x_title.setText(x_title)
        self._y_title.setText(y_title)
        self._y_title.setToolTip(y_title)

    def set_axes(
        self,
        axis: str = "steps",
        *,
        is_log_x: bool = False,
        is_log_y: bool = False,
        x_scale: float = 1.0,
    ) -> None:
        """`axis` is "steps", "time" (in seconds, written times `x_scale`) or "episodes"."""
        if (axis, is_log_x) != (self._axis, self._is_log_x):
            self._chosen = None  # another axis has other places
        self._axis, self._is_log_x, self._is_log_y = axis, is_log_x, is_log_y
        self.area.bottom.setScale(1.0 if is_log_x else x_scale)
        self.area.bottom.setLogMode(is_log_x)
        self.area.left.setLogMode(is_log_y)

    @property
    def curves(self) -> tuple[Curve, ...]:
        return self._curves

    @property
    def references(self) -> tuple[Curve, ...]:
        return self._references

    @property
    def shown_curves(self) -> tuple[Curve, ...]:
        """Without those that were hidden in the legend."""
        return tuple(curve for curve in self._curves if curve.id not in self._hidden)

    @property
    def chosen_range(self) -> Range | None:
        """Of x as the curves have it."""
        return None if self._chosen is None else self._from_axis(self._chosen)

    @property
    def pointer_text(self) -> str:
        return self._pointer_text.text()

    @property
    def x_title(self) -> str:
        return self._x_title.text()

    @property
    def width_px(self) -> int:
        """Of the picture: more points than this cannot be told apart."""
        return int(self.area.getPlotItem().getViewBox().width())

    def show_range(self, begin: float, end: float) -> None:
        """As the curves have it; says nothing to others."""
        low, high = on_axis(numbers([begin, end]), self._is_log_x).tolist()
        self._chosen = (low, high)
        self._fit()

    def show_everything(self) -> None:
        was_chosen = self._chosen is not None
        self._chosen = None
        self._fit()
        if was_chosen:
            self.range_chosen.emit(None)

    # What it exports

    def image(self) -> QImage:
        """Twice as fine as on the screen."""
        image = QImage(self.size() * EXPORT_SCALE, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(EXPORT_SCALE)
        image.fill(QColor(self._theme.palette.panel))
        self.render(image)
        return image

    def save_svg(self, path: Path) -> None:
        generator = QSvgGenerator()
        generator.setFileName(str(path))
        generator.setSize(self.size())
        generator.setViewBox(self.rect())
        with QPainter(generator) as painter:
            painter.fillRect(QRectF(self.rect()), QColor(self._theme.palette.panel))
            self.render(painter, QPoint())

    def sizeHint(self) -> QSize:
        return QSize(360, 260)

    # What happens to it

    def _redraw(self) -> None:
        background = self._theme.palette.plot
        for curve in (*self._curves, *self._references):
            if curve.id not in self._items:
                self._items[curve.id] = CurveItems(self.area.getPlotItem())
            self._items[curve.id].draw(curve, self._is_log_x, self._is_log_y, background)
            self._items[curve.id].set_visible(curve.id not in self._hidden)
        self._fit()
        self._show_values()

    def _fit(self) -> None:
        shown = self.shown_curves
        levels = tuple(one for one in self._references if one.id not in self._hidden)
        within = self._chosen or x_range(shown, self._is_log_x)
        heights = y_range((*shown, *levels), self._is_log_y, within, self._is_log_x)
        self.area.getPlotItem().setRange(xRange=within, yRange=heights, padding=0)

    def _on_toggled(self, curve_id: str, is_shown: bool) -> None:
        (self._hidden.discard if is_shown else self._hidden.add)(curve_id)
        self._redraw()

    def _on_region_dragged(self, begin: float, end: float) -> None:
        limits = x_range(self.shown_curves, self._is_log_x)
        begin, end = max(begin, limits[0]), min(end, limits[1])
        if end > begin:
            self._choose((begin, end))

    def _on_zoom_asked(self, factor: float, centre: float | None) -> None:
        limits = x_range(self.shown_curves, self._is_log_x)
        shown = self._chosen or limits
        middle = (shown[0] + shown[1]) / 2 if centre is None else centre
        found = zoomed(shown, factor, middle, limits)
        if found is None:
            self.show_everything()
        else:
            self._choose(found)

    def _on_pan_asked(self, share: float) -> None:
        if self._chosen is not None:
            limits = x_range(self.shown_curves, self._is_log_x)
            by = share * (self._chosen[1] - self._chosen[0])
            self._choose(panned(self._chosen, by, limits))

    def _choose(self, chosen: Range) -> None:
        self._chosen = chosen
        self._fit()
        self.range_chosen.emit(self.chosen_range)

    def _on_hovered(self, x: float | None) -> None:
        self._hover_x = x
        self._show_values()

    def _on_double_clicked(self) -> None:
        """Out of a part of the curve first."""
        if self._chosen is not None:
            self.show_everything()
        else:
            self.enlarge_asked.emit()

    def _on_wheel_refused(self) -> None:
        """Said until the pointer moves on."""
        self._pointer_text.setText(WHEEL_HINT)

    def _show_values(self) -> None:
        """At the pointer; without one, the last values."""
        at = self._hover_x
        self.area.pointer.setVisible(at is not None)
        if at is None:
            self._pointer_text.setText("")
            self._dots.setData([], [])
            self.legend.show_values(
                {curve.id: curve.legend_value for curve in (*self._curves, *self._references)}
            )
            return
        self.area.pointer.setValue(at)
        x = 10.0**at if self._is_log_x else at
        readings = {curve.id: reading_at(curve, x) for curve in self.shown_curves}
        found = {curve_id: reading for curve_id, reading in readings.items() if reading}
        # One curve is read at its point; several at the place of the pointer.
        place = next(iter(found.values())).x if len(found) == 1 else x
        self._pointer_text.setText(x_text(place, self._axis))
        levels = {one.id: one.legend_value for one in self._references}
        self.legend.show_values(
            levels | {curve_id: reading.y for curve_id, reading in found.items()}
        )
        colours = {curve.id: curve.colour for curve in self._curves}
        self._dots.setData(
            on_axis(numbers([reading.x for reading in found.values()]), self._is_log_x),
            on_axis(numbers([reading.y for reading in found.values()]), self._is_log_y),
            size=_DOT_PX,
            pen=QPen(QColor(self._theme.palette.plot), 0),
            brush=[QBrush(QColor(colours[curve_id])) for curve_id in found],
        )

    def _from_axis(self, places: Range) -> Range:
        if not self._is_log_x:
            return places
        return 10.0 ** places[0], 10.0 ** places[1]
