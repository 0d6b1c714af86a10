"""ChartCard: one metric of the selected runs, with its heading and its export."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QComboBox, QCompleter, QHBoxLayout, QToolButton, QVBoxLayout, QWidget

from mosaic.errors import MosaicError
from mosaic.gui.charts.export import ChartExport, NamedPlot, Sheet
from mosaic.gui.charts.feeds import ChartFeed
from mosaic.gui.charts.model.curve import Curve, followed
from mosaic.gui.charts.model.metrics import title_of
from mosaic.gui.charts.model.picture import ChartOptions, ChartPicture, Evaluations, RunLook, XAxis
from mosaic.gui.charts.plot import CurvePlot
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.widgets.roles import label, with_role

_ICON = QSize(16, 16)
WAITING = "The first point arrives with the first finished episode."
EMPTY = "None of the selected runs recorded this metric."


class ChartCard(QWidget):
    metric_chosen = Signal(str, str)  # the one before, the one wanted
    close_asked = Signal(str)
    enlarge_asked = Signal(str)  # alone on the page, or back among the others

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
        self._is_live = self._is_enlarged = False
        self._last_x: float | None = None
        self.stale: set[str] = set()  # runs that have more than is shown here
        self.plot = CurvePlot(workbench.theme)
        self.export = ChartExport(workbench, self, "chart", self._sheet)
        self._combo = self._make_combo()
        self._menu_button = self._make_menu_button()
        self._close_button = self._button("Remove this chart", self._on_close)
        self.enlarge_button = self._button("", self._on_enlarge)
        # What is to the right of it must not move when another chart comes or goes.
        policy = self._close_button.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self._close_button.setSizePolicy(policy)
        self._remark = label("", "warning")
        self._remark.setWordWrap(True)
        self._remark.hide()
        top = QHBoxLayout()
        top.setSpacing(4)
        top.addWidget(self._combo, 1)
        top.addWidget(self.enlarge_button)
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
        self.plot.enlarge_asked.connect(self._on_enlarge)
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

    def set_enlarged(self, is_enlarged: bool) -> None:
        self._is_enlarged = is_enlarged
        self._draw_icons()

    def set_references(self, references: Sequence[Curve]) -> None:
        self.plot.show_references(references)

    def _sheet(self) -> Sheet:
        return Sheet([NamedPlot(self.metric_name, self.plot)])

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

    def _on_enlarge(self) -> None:
        self.enlarge_asked.emit(self.metric_name)

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
        button.setMenu(self.export.menu(button))
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
        name = "arrow-collapse" if self._is_enlarged else "arrow-expand"
        about = (
            "Back to all charts (Escape)"
            if self._is_enlarged
            else "Show this chart alone (double click)"
        )
        self.enlarge_button.setIcon(self._theme.icon(name, self._theme.palette.muted))
        self.enlarge_button.setToolTip(about)
        self.enlarge_button.setAccessibleName(about.partition(" (")[0])
        self._name_it()

    def _name_it(self) -> None:
        self.setAccessibleName(f"Chart of {title_of(self.metric_name)}")
        self._combo.setAccessibleName(f"Metric of this chart: {self.metric_name}")
