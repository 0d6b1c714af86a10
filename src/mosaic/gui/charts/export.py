"""ChartExport: one chart or the whole page as a picture or a table, in a file or the clipboard."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from PySide6.QtCore import QBuffer, QByteArray, QObject, QPoint, QRect, QRectF, QSize
from PySide6.QtGui import QColor, QGuiApplication, QImage, QImageWriter, QPainter
from PySide6.QtSvg import QSvgGenerator
from PySide6.QtWidgets import QMenu, QWidget

from mosaic.errors import MosaicError
from mosaic.files import atomic_write
from mosaic.gui.charts.model.curve import csv_text, file_stem, page_csv_text
from mosaic.gui.charts.plot import EXPORT_SCALE, CurvePlot
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity
from mosaic.gui.widgets.choosers import ask_for_file

_GUTTER = 16
_WITHOUT_BACKGROUND = QWidget.RenderFlag.DrawChildren


class NamedPlot(NamedTuple):
    metric: str
    plot: CurvePlot


class Sheet(NamedTuple):
    """What is exported, and how it stands on the paper."""

    plots: Sequence[NamedPlot]
    columns: int = 1


class ChartExport(QObject):
    """`sheet` says what there is to export at the moment somebody asks."""

    def __init__(
        self, workbench: Workbench, owner: QWidget, title: str, sheet: Callable[[], Sheet]
    ) -> None:
        super().__init__(owner)
        self._workbench, self._owner, self._title, self._sheet = workbench, owner, title, sheet

    def menu(self, parent: QWidget) -> QMenu:
        menu = QMenu(parent)
        for text, run in (
            ("Copy image", self.copy_image),
            ("Save as PNG…", self.ask_png),
            ("Save as SVG…", self.ask_svg),
            ("Save values as CSV…", self.ask_csv),
        ):
            menu.addAction(text).triggered.connect(run)
        return menu

    def copy_image(self) -> None:
        QGuiApplication.clipboard().setImage(self._image())
        self._workbench.state.say(Notice(f"The {self._title} is in the clipboard", Severity.GOOD))

    def ask_png(self) -> None:
        self._ask("png", "Pictures (*.png)", self.save_png)

    def ask_svg(self) -> None:
        self._ask("svg", "Vector graphics (*.svg)", self.save_svg)

    def ask_csv(self) -> None:
        self._ask("csv", "Tables (*.csv)", self.save_csv)

    def save_png(self, path: Path) -> None:
        image = self._image()

        def write() -> None:
            buffer = QBuffer()
            QImageWriter(buffer, QByteArray(b"PNG")).write(image)
            _put(path, bytes(buffer.data().data()))

        self._write(path, write)

    def save_svg(self, path: Path) -> None:
        # Widgets paint in the window's thread only; into memory, it takes little.
        places = _places(self._sheet())
        buffer = QBuffer()
        generator = QSvgGenerator()
        generator.setOutputDevice(buffer)
        generator.setSize(_size(places))
        generator.setViewBox(QRect(QPoint(), _size(places)))
        with QPainter(generator) as painter:
            self._paint(painter, places)
        drawn = bytes(buffer.data().data())
        self._write(path, lambda: _put(path, drawn))

    def save_csv(self, path: Path) -> None:
        plots = self._sheet().plots
        tables = [(one.metric, one.plot.x_title, one.plot.shown_curves) for one in plots]

        def write() -> None:
            is_page = len(tables) != 1
            text = page_csv_text(tables) if is_page else csv_text(tables[0][2], tables[0][1])
            _put(path, text.encode())

        self._write(path, write)

    def _image(self) -> QImage:
        """Twice as fine as on the screen."""
        places = _places(self._sheet())
        image = QImage(_size(places) * EXPORT_SCALE, QImage.Format.Format_ARGB32_Premultiplied)
        image.setDevicePixelRatio(EXPORT_SCALE)
        with QPainter(image) as painter:
            self._paint(painter, places)
        return image

    def _paint(self, painter: QPainter, places: Sequence[tuple[CurvePlot, QRect]]) -> None:
        background = QColor(self._workbench.theme.palette.panel)
        painter.fillRect(QRectF(QRect(QPoint(), _size(places))), background)
        for plot, place in places:
            plot.render(painter, place.topLeft(), renderFlags=_WITHOUT_BACKGROUND)

    def _ask(self, suffix: str, kinds: str, save: Callable[[Path], None]) -> None:
        """Not modal: runs continue, and so does the window."""
        plots = self._sheet().plots
        stem = file_stem(plots[0].metric) if len(plots) == 1 else "charts"
        dialog = ask_for_file(
            self._owner.window(),
            f"Save the {self._title}",
            kinds,
            save,
            suggested=f"{stem}.{suffix}",
            is_new=True,
        )
        dialog.setObjectName("chart-save")

    def _write(self, path: Path, write: Callable[[], None]) -> None:
        self._workbench.bridge.work(write, lambda _: self._said(path))

    def _said(self, path: Path) -> None:
        self._workbench.state.say(Notice(f"Saved {path}", Severity.GOOD))


def _places(sheet: Sheet) -> list[tuple[CurvePlot, QRect]]:
    """A single chart fills its picture; several stand in rows of equal cells."""
    plots = [one.plot for one in sheet.plots]
    if len(plots) == 1:
        return [(plots[0], plots[0].rect())]
    cell = QSize(
        max((plot.width() for plot in plots), default=0),
        max((plot.height() for plot in plots), default=0),
    )
    columns = max(1, sheet.columns)
    places = []
    for number, plot in enumerate(plots):
        row, column = divmod(number, columns)
        corner = QPoint(
            _GUTTER + column * (cell.width() + _GUTTER), _GUTTER + row * (cell.height() + _GUTTER)
        )
        places.append((plot, QRect(corner, plot.size())))
    return places


def _size(places: Sequence[tuple[CurvePlot, QRect]]) -> QSize:
    if len(places) == 1:
        return places[0][1].size()
    right = max((place.right() for _, place in places), default=0)
    bottom = max((place.bottom() for _, place in places), default=0)
    return QSize(right + 1 + _GUTTER, bottom + 1 + _GUTTER)


def _put(path: Path, data: bytes) -> None:
    try:
        atomic_write(path, data, 0o644)
    except OSError as error:
        raise MosaicError(
            f"{path.name} could not be written: {error.strerror}", hint="choose another folder"
        ) from error
