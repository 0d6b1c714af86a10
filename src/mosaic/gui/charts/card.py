"""ChartCard: one metric of the selected runs, with its heading and its export."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from PySide6.QtCore import QObject, QSize, Qt, Signal
from PySide6.QtGui import QGuiApplication, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QCompleter,
    QFileDialog,
    QHBoxLayout,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.errors import MosaicError
from mosaic.files import atomic_write
from mosaic.gui.charts.feeds import ChartFeed
from mosaic.gui.charts.model.curve import csv_text, file_stem, followed
from mosaic.gui.charts.model.metrics import title_of
from mosaic.gui.charts.model.picture import ChartOptions, ChartPicture, Evaluations, RunLook, XAxis
from mosaic.gui.charts.plot import CurvePlot
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity
from mosaic.gui.widgets.roles import label, with_role


class ChartExport(QObject):
    """A chart as a picture or a table, in files or the clipboard."""

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
        """Not modal: runs continue, and so does the window."""
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


_ICON = QSize(16, 16)
WAITING = "The first point arrives with the first finished episode."
EMPTY = "None of the selected runs recorded this metric."


class ChartCard(QWidget):
    metric_chosen = Signal(str, str)  # the one before, the one wanted
    close_asked = Signal(str)

    def __init__(
        self,
        workbench: Workbench,
        metric: str,
        options: ChartOptions,
        runs: tuple[RunLook, ...] = (),
        width_px: int = 0,
    ) -> None:
        super().__init__()
        self.feed = ChartFeed(workbench.bridge, metric, options)
        self.feed.setParent(self)
        # The daemon looks for the values while everything below is made.
        self.feed.set_width(width_px)
        self.feed.set_runs(runs)
        with_role(self, "card")
        self.setObjectName("chart-card")
        self._theme = workbench.theme
        self._is_following = options.is_following
        self._is_live = False
        self._last_x: float | None = None
        self.stale: set[str] = set()  # runs that have more than is shown here
        self.plot = CurvePlot(workbench.theme)
        self.export = ChartExport(workbench, self.plot, self)
        self._combo = self._make_combo()
        self._menu_button = self._make_menu_button()
        self._close_button = self._button("Remove this chart", self._on_close)
        self._remark = label("", "warning")
        self._remark.setWordWrap(True)
        self._remark.hide()
        top = QHBoxLayout()
        top.setSpacing(4)
        top.addWidget(self._combo, 1)
        top.addWidget(self._menu_button)
        top.addWidget(self._close_button)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(8, 8, 8, 8)
        layout.setSpacing(4)
        layout.addLayout(top)
        layout.addWidget(self.plot, 1)
        layout.addWidget(self._remark)
        self.feed.arrived.connect(self._on_arrived)
        self.feed.failed.connect(self._on_failed)
        self.plot.range_chosen.connect(self.feed.set_range)
        workbench.theme.changed.connect(self._draw_icons)
        self._draw_icons()

    @property
    def metric_name(self) -> str:
        return self.feed.metric

    @property
    def remark(self) -> str:
        return self._remark.text()

    def set_names(self, names: Sequence[str]) -> None:
        """All there are to choose from."""
        known = [self._combo.itemText(row) for row in range(self._combo.count())]
        if known != list(names):
            self._combo.blockSignals(True)
            self._combo.clear()
            self._combo.addItems(list(names))
            self._combo.setCurrentText(self.metric_name)
            self._combo.blockSignals(False)

    def set_closable(self, is_closable: bool) -> None:
        self._close_button.setVisible(is_closable)

    def set_runs(self, runs: tuple[RunLook, ...]) -> None:
        self._is_live = any(not run.is_over for run in runs)
        self.feed.set_runs(runs)

    def set_options(self, options: ChartOptions) -> None:
        self._is_following = options.is_following
        self.feed.set_options(options)

    def set_evaluations(self, evaluations: Mapping[str, Evaluations]) -> None:
        self.feed.set_evaluations(evaluations)

    def refresh_if_seen(self) -> None:
        if self.stale and not self.visibleRegion().isEmpty():
            self.feed.refresh(self.stale)
            self.stale = set()

    def stop(self) -> None:
        self.feed.stop()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.feed.set_width(self.plot.width_px)

    def _on_arrived(self, picture: ChartPicture) -> None:
        options = picture.options
        is_time = picture.axis is XAxis.TIME
        self.plot.set_axes(
            picture.axis.value,
            is_log_x=options.is_log_x,
            is_log_y=options.is_log_y,
            x_scale=1.0 / picture.time.seconds if is_time else 1.0,
        )
        x_title = picture.x_title
        if is_time and options.is_log_x:
            x_title = "wall time (s)"
        self.plot.set_titles(x_title, picture.y_title)
        self._follow(picture)
        self.plot.show_curves(picture.curves)
        remarks = list(picture.remarks)
        if picture.is_empty:
            remarks.insert(0, WAITING if self._is_live else EMPTY)
        self._say(" ".join(remarks))

    def _follow(self, picture: ChartPicture) -> None:
        ends = [float(curve.xs[-1]) for curve in picture.curves if len(curve.xs)]
        last, before = max(ends, default=None), self._last_x
        self._last_x = last
        chosen = self.plot.chosen_range
        if chosen is None or last is None or before is None or not self._is_following:
            return
        moved = followed(chosen, before, last)
        if moved != chosen:
            self.plot.show_range(*moved)
            self.feed.set_range(moved)

    def _on_failed(self, error: MosaicError) -> None:
        """What was drawn stays."""
        self._say(f"{error.message}. These are the last curves.")

    def _say(self, text: str) -> None:
        self._remark.setText(text)
        self._remark.setVisible(bool(text))

    def _on_metric_activated(self, _: int) -> None:
        wanted = self._combo.currentText()
        if self._combo.findText(wanted) < 0:
            self._combo.setCurrentText(self.metric_name)
        elif wanted != self.metric_name:
            self.metric_chosen.emit(self.metric_name, wanted)

    def _on_edited(self) -> None:
        """What was typed and is not a metric goes back to what is shown."""
        if self._combo.findText(self._combo.currentText()) < 0:
            self._combo.setCurrentText(self.metric_name)

    def show_metric(self, metric: str) -> None:
        self._last_x = None
        self.plot.show_everything()
        self.feed.set_metric(metric)
        self._combo.setCurrentText(metric)
        self._name_it()

    def _on_close(self) -> None:
        self.close_asked.emit(self.metric_name)

    def _make_combo(self) -> QComboBox:
        combo = QComboBox()
        combo.setObjectName("chart-metric")
        combo.setEditable(True)
        combo.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        combo.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        combo.setMinimumContentsLength(8)
        combo.setMaxVisibleItems(16)
        completer = QCompleter(combo.model(), combo)
        completer.setCompletionMode(QCompleter.CompletionMode.PopupCompletion)
        completer.setFilterMode(Qt.MatchFlag.MatchContains)
        completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        popup = completer.popup()
        if popup is not None:
            with_role(popup, "popup")
        combo.setCompleter(completer)
        combo.addItem(self.metric_name)
        combo.activated.connect(self._on_metric_activated)
        editor = combo.lineEdit()
        if editor is not None:
            editor.editingFinished.connect(self._on_edited)
        combo.setToolTip("Metric: type to search")
        return combo

    def _make_menu_button(self) -> QToolButton:
        button = self._button("Save or copy this chart", None)
        menu = QMenu(button)
        for text, run in (
            ("Copy image", self.export.copy_image),
            ("Save as PNG…", self.export.ask_png),
            ("Save as SVG…", self.export.ask_svg),
            ("Save values as CSV…", self.export.ask_csv),
        ):
            menu.addAction(text).triggered.connect(run)
        button.setMenu(menu)
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        return button

    def _button(self, text: str, run: object) -> QToolButton:
        button = with_role(QToolButton(), "flat")
        button.setToolTip(text)
        button.setAccessibleName(text)
        button.setIconSize(_ICON)
        if callable(run):
            button.clicked.connect(run)
        return button

    def _draw_icons(self) -> None:
        self._menu_button.setIcon(self._theme.icon("dots-horizontal", self._theme.palette.muted))
        self._close_button.setIcon(self._theme.icon("close", self._theme.palette.muted))
        self._name_it()

    def _name_it(self) -> None:
        self.setAccessibleName(f"Chart of {title_of(self.metric_name)}")
        self._combo.setAccessibleName(f"Metric of this chart: {self.metric_name}")
