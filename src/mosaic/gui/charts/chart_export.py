"""ChartExport: a chart as a picture or a table, in files or the clipboard."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from PySide6.QtCore import QObject, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog

from mosaic.errors import MosaicError
from mosaic.files import atomic_write
from mosaic.gui.charts.curve_plot import CurvePlot
from mosaic.gui.state.chart_table import csv_text, file_stem
from mosaic.gui.state.notices import Notice, Severity
from mosaic.gui.workbench import Workbench

if TYPE_CHECKING:
    from mosaic.gui.charts.chart_card import ChartCard


class ChartExport(QObject):
    def __init__(self, workbench: Workbench, plot: CurvePlot, card: ChartCard) -> None:
        super().__init__(card)
        self._workbench, self._plot, self._card = workbench, plot, card

    def copy_image(self) -> None:
        QGuiApplication.clipboard().setImage(self._plot.image())
        self._workbench.state.say(Notice("The chart is in the clipboard", Severity.GOOD))

    def ask_png(self) -> None:
        self._ask("png", "Pictures (*.png)", self.save_png)

    def ask_svg(self) -> None:
        self._ask("svg", "Vector graphics (*.svg)", self.save_svg)

    def ask_csv(self) -> None:
        self._ask("csv", "Tables (*.csv)", self.save_csv)

    def save_png(self, path: Path) -> None:
        image = self._plot.image()

        def write() -> None:
            if not image.save(str(path)):
                raise _refused(path)

        self._write(path, write)

    def save_svg(self, path: Path) -> None:
        # Widgets paint in the window's thread only; the file takes little.
        self._plot.save_svg(path)
        if path.exists():
            self._said(path)
        else:
            self._workbench.bridge.failed.emit(_refused(path))

    def save_csv(self, path: Path) -> None:
        curves, title = self._plot.shown_curves, self._plot.x_title

        def write() -> None:
            try:
                atomic_write(path, csv_text(curves, title).encode(), 0o644)
            except OSError as error:
                raise _refused(path, error.strerror or "") from error

        self._write(path, write)

    def _ask(self, suffix: str, kinds: str, save: Callable[[Path], None]) -> None:
        """Not modal: runs go on, and so does the window."""
        dialog = QFileDialog(self._card.window(), "Save the chart", "", kinds)
        dialog.setObjectName("chart-save")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
        dialog.setDefaultSuffix(suffix)
        dialog.selectFile(f"{file_stem(self._card.metric_name)}.{suffix}")
        dialog.setModal(False)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(lambda name: save(Path(name)))
        dialog.show()

    def _write(self, path: Path, write: Callable[[], None]) -> None:
        self._workbench.bridge.work(write, lambda _: self._said(path))

    def _said(self, path: Path) -> None:
        self._workbench.state.say(Notice(f"Saved {path}", Severity.GOOD))


def _refused(path: Path, why: str = "") -> MosaicError:
    reason = f": {why}" if why else ""
    return MosaicError(f"{path.name} could not be written{reason}", hint="choose another folder")
