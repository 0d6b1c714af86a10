"""ChartsTab: the metrics of all selected runs, as many charts beside each other as have room."""

from __future__ import annotations

import json
from collections.abc import Callable

from PySide6.QtCore import QEvent, Qt, QTimer
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QStackedLayout, QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.charts.card import ChartCard
from mosaic.gui.charts.export import ChartExport, NamedPlot, Sheet
from mosaic.gui.charts.feeds import RunMetrics
from mosaic.gui.charts.grid import ChartGrid, DockRoom
from mosaic.gui.charts.model.curve import Curve
from mosaic.gui.charts.model.metrics import chosen_charts, is_return, prefix_of, ranked
from mosaic.gui.charts.model.page import Filtered, filtered
from mosaic.gui.charts.model.picture import ChartOptions, RunLook, seed_groups
from mosaic.gui.charts.model.references import algorithm_of, references_for
from mosaic.gui.charts.model.runs import looks_of, nothing_to_show
from mosaic.gui.charts.page_bar import PageBar
from mosaic.gui.charts.toolbar import ChartChips, ChartsToolbar
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.tabs.run_tab import RunTab
from mosaic.gui.widgets.messages import Banner, EmptyState
from mosaic.gui.widgets.roles import label

# How often a chart of a live run is drawn anew.
_LIVE_MS = 400
# What a run wrote last reaches the store a little after its record says that it is over.
_LATE_MS = 1500
_SETTINGS = "charts/shown"
LOADING = "Looking for metrics…"
LOST = "The daemon does not answer. These are the last curves it gave."


class ChartsTab(RunTab):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._selection: tuple[str, ...] = ()
        self._looks: tuple[RunLook, ...] = ()
        self._is_active = False
        self._changed: set[str] = set()  # runs with something new since the last refresh
        self._late: set[str] = set()
        self._leading: RunRecord | None = None
        self.cards: list[ChartCard] = []
        self._names: list[str] = []  # what the cards are chosen from: of the run before, at first
        self.metrics = RunMetrics(workbench.bridge, workbench.state.runs)
        self.metrics.setParent(self)
        self.toolbar = ChartsToolbar(workbench.theme, workbench.settings)
        self.export = ChartExport(workbench, self, "page", self._sheet)
        self.bar = PageBar(workbench.theme, workbench.settings, self.export)
        self.grid = ChartGrid()
        self._room = DockRoom(self)
        self.grid.choose_columns(self.bar.columns)
        self.remark = label("", "caption")
        self.banner = Banner(workbench.theme, "lan-disconnect")
        self.chips = ChartChips()
        self.empty = EmptyState(workbench.theme, "chart-line", LOADING)
        self._live_timer = self._timer(_LIVE_MS, self._refresh)
        self._late_timer = self._timer(_LATE_MS, self._on_late)
        self._arrange()
        self.toolbar.changed.connect(self._on_options_changed)
        self.toolbar.fit_asked.connect(self._on_fit_asked)
        self.bar.filter_changed.connect(self._show_charts)
        self.bar.columns_changed.connect(self.grid.choose_columns)
        self.grid.scrolled.connect(self._on_scrolled)
        self.grid.verticalScrollBar().rangeChanged.connect(self._on_scroll_range_changed)
        self.chips.added.connect(self._on_added)
        self.chips.removed.connect(self._on_removed)
        self.metrics.names_changed.connect(self._on_names_changed)
        self.metrics.evaluations_changed.connect(self._on_evaluations_changed)
        state = workbench.state
        state.colours_changed.connect(self._on_colours_changed)
        state.colour_seeds_apart(not self.toolbar.options.seeds_as_band)
        state.runs.changed.connect(self._on_runs_changed)
        state.connection_changed.connect(self._on_connection_changed)
        state.catalogue_changed.connect(self._show_references)

    # What is shown

    def show_run(self, record: RunRecord) -> None:
        """The list of runs says the same about it, and about all others, but for its config."""
        is_other = self._leading is None or self._leading.run_id != record.run_id
        self._leading = record
        if is_other:
            self._show_references()
        if self._is_active and not self._looks:
            self._show_runs()

    def show_selection(self, run_ids: tuple[str, ...]) -> None:
        self._selection = run_ids
        if self._is_active:
            self._show_runs()

    def set_active(self, is_active: bool) -> None:
        self._is_active = is_active
        if is_active:
            self._on_connection_changed(self._workbench.state.connection.value)
            self._changed.update(self._selection)
            self._show_runs()
            self._live_timer.start()
        else:
            for timer in (self._live_timer, self._late_timer):
                timer.stop()
            self.bar.stop()
            self._show_alone(None)
            self.metrics.stop()
            for card in self.cards:
                card.stop()

    @property
    def charts(self) -> tuple[str, ...]:
        """The metrics that are shown, from above."""
        return tuple(card.metric_name for card in self.cards)

    def _show_runs(self) -> None:
        state = self._workbench.state
        self._looks = looks_of(self._selection, state.runs, state.colours)
        self._show_references()
        self.toolbar.offer(
            bands=seed_groups(self._looks) > 0,
            ancestors=any(look.ancestors for look in self._looks),
        )
        self.metrics.refresh(self._run_ids)
        self._show_charts()
        self._on_evaluations_changed()

    @property
    def _run_ids(self) -> list[str]:
        """Those whose points are shown: the selected ones, and what they continue."""
        before = [one.run_id for look in self._looks for one in look.ancestors]
        return list(dict.fromkeys([*(look.run_id for look in self._looks), *before]))

    def _show_charts(self) -> None:
        """The charts that were chosen for metrics like these, with the runs selected now."""
        names = self.metrics.names(self._run_ids)
        if not names and self.metrics.is_known(self._run_ids):
            self.empty.show_text(*nothing_to_show(self._looks))
            self._pages.setCurrentIndex(0)
        if not names:
            # Most runs have the metrics of the one before: ask for them at once.
            for card in self.cards:
                card.set_runs(self._looks)
            return
        self._names = names
        found = self._wanted(names)
        self._set_charts(list(found.names))
        self.remark.setText(found.remark)
        self.remark.setVisible(bool(found.remark))
        self.chips.setVisible(not self.bar.filter_text)
        self._pages.setCurrentIndex(1)

    def _wanted(self, names: list[str]) -> Filtered:
        if self.bar.filter_text:
            return filtered(ranked(names), self.bar.fits())
        return Filtered(tuple(chosen_charts(names, self._remembered(names))), "")

    def _set_charts(self, wanted: list[str]) -> None:
        names = ranked(self._names)
        kept = {card.metric_name: card for card in self.cards}
        for metric, card in kept.items():
            if metric not in wanted:
                self._drop(card)
        self.cards = [kept.get(metric) or self._new_card(metric) for metric in wanted]
        for card in self.cards:
            card.set_names(names)
            card.set_closable(len(wanted) > 1 and not self.bar.filter_text)
            card.set_runs(self._looks)
        self.grid.show_cards(self.cards)
        self._show_enlarged()
        self.chips.show_charts(names, wanted)

    def _new_card(self, metric: str) -> ChartCard:
        card = ChartCard(
            self._workbench,
            metric,
            self.toolbar.options,
            self._looks,
            self.grid.width() // max(1, self.grid.columns),
        )
        card.metric_chosen.connect(self._on_metric_chosen)
        card.close_asked.connect(self._on_close_asked)
        card.enlarge_asked.connect(self._on_enlarge_asked)
        card.plot.area.wheel_needs_click = self.grid.scrolls
        card.set_references(self._references(metric))
        if is_return(metric):
            card.set_evaluations(self.metrics.evaluations(self._run_ids))
        return card

    def _drop(self, card: ChartCard) -> None:
        card.stop()
        card.hide()
        card.deleteLater()

    # What curves are measured by

    def _references(self, metric: str) -> tuple[Curve, ...]:
        """Only where all runs that are shown have the environment of the leading one."""
        record, state = self._leading, self._workbench.state
        if record is None or not record.env_id:
            return ()
        shown = [state.runs.get(look.run_id) for look in self._looks]
        if any(run is not None and run.env_id != record.env_id for run in shown):
            return ()
        steps = record.progress.total_steps or record.progress.steps
        info = state.environment(record.env_id)
        return references_for(metric, record.env_id, info, algorithm_of(record), steps)

    def _show_references(self) -> None:
        for card in self.cards:
            card.set_references(self._references(card.metric_name))

    # One chart alone

    def _on_enlarge_asked(self, metric: str) -> None:
        card = next(card for card in self.cards if card.metric_name == metric)
        self._show_alone(None if self.grid.alone is card else card)
        card.plot.area.setFocus()  # Escape leads back from there

    def _show_alone(self, card: ChartCard | None) -> None:
        if (card is None) != (self.grid.alone is None):
            self._room.give() if card is not None else self._room.take_back()
        self.grid.show_alone(card)
        self._show_enlarged()

    def _show_enlarged(self) -> None:
        for card in self.cards:
            card.set_enlarged(card is self.grid.alone)
        self._on_scrolled()  # those that come into sight have something to catch up with

    def event(self, event: QEvent) -> bool:
        """Escape is for the enlarged chart before it is anybody's shortcut."""
        is_override = event.type() == QEvent.Type.ShortcutOverride
        if is_override and isinstance(event, QKeyEvent) and self._leaves_alone(event):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if self._leaves_alone(event):
            self._show_alone(None)
            event.accept()
        else:
            super().keyPressEvent(event)

    def _leaves_alone(self, event: QKeyEvent) -> bool:
        return event.key() == Qt.Key.Key_Escape and self.grid.alone is not None

    def _sheet(self) -> Sheet:
        shown = [card for card in self.cards if self.grid.alone in (None, card)]
        return Sheet([NamedPlot(card.metric_name, card.plot) for card in shown], self.grid.columns)

    # What the person chooses

    def _on_options_changed(self, options: ChartOptions) -> None:
        self._workbench.state.colour_seeds_apart(not options.seeds_as_band)
        for card in self.cards:
            card.set_options(options)

    def _on_colours_changed(self) -> None:
        if self._is_active:
            self._show_runs()

    def _on_fit_asked(self) -> None:
        for card in self.cards:
            card.plot.show_everything()

    def _on_added(self, names: tuple[str, ...]) -> None:
        self._choose([*self.charts, *(name for name in names if name not in self.charts)])

    def _on_removed(self, names: tuple[str, ...]) -> None:
        self._choose([name for name in self.charts if name not in names])

    def _on_close_asked(self, metric: str) -> None:
        self._on_removed((metric,))

    def _on_metric_chosen(self, before: str, wanted: str) -> None:
        card = next(card for card in self.cards if card.metric_name == before)
        if self.bar.filter_text:
            card.show_metric(before)  # the filter says what is shown
        elif wanted not in self.charts:
            card.show_metric(wanted)
            found = self.metrics.evaluations(self._run_ids) if is_return(wanted) else {}
            card.set_evaluations(found)
            card.set_references(self._references(wanted))
            self._choose(list(self.charts))
        else:
            card.show_metric(before)  # it has a chart of its own already

    def _choose(self, charts: list[str]) -> None:
        if charts and self._names:
            key = self._settings_key(self._names)
            self._workbench.settings.setValue(key, json.dumps(charts))
        self._show_charts() if not charts else self._set_charts(charts)

    def _remembered(self, names: list[str]) -> list[str]:
        try:
            found = json.loads(str(self._workbench.settings.value(self._settings_key(names), "[]")))
        except ValueError:
            return []
        return [str(name) for name in found] if isinstance(found, list) else []

    def _settings_key(self, names: list[str]) -> str:
        """Scripts of one kind name their metrics alike: what was chosen for one fits the others."""
        return f"{_SETTINGS}/{prefix_of(ranked(names)[0]).replace('/', '-') or 'plain'}"

    # What the daemon says

    def _on_names_changed(self) -> None:
        if self._is_active:
            self._show_charts()
            self.metrics.measure_evaluations(self._run_ids)

    def _on_evaluations_changed(self) -> None:
        charts = [card for card in self.cards if is_return(card.metric_name)]
        if charts and self._is_active:
            found = self.metrics.evaluations(self._run_ids)
            for card in charts:
                card.set_evaluations(found)

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if not self._is_active:
            return
        news = changed & set(self._selection)
        runs = self._workbench.state.runs
        if any((record := runs.get(run)) is not None and record.is_over for run in changed):
            self._on_evaluations_changed()
        if news:
            self._changed |= news
            if not self._live_timer.isActive():
                self._live_timer.start()
            self._late |= news
            self._late_timer.start()

    def _refresh(self) -> None:
        """Only runs that changed, and only in charts that are in sight."""
        changed, self._changed = self._changed, set()
        state = self._workbench.state
        looks = looks_of(self._selection, state.runs, state.colours)
        if looks != self._looks:
            self._show_runs()
        self.metrics.refresh(changed & set(self._run_ids))
        for card in self.cards:
            card.stale |= changed
            card.refresh_if_seen()

    def _on_late(self) -> None:
        self._changed |= self._late
        self._late = set()
        self._refresh()

    def _on_scrolled(self) -> None:
        for card in self.cards:
            card.refresh_if_seen()

    def _on_connection_changed(self, connection: str) -> None:
        is_lost = connection == Connection.LOST
        self.banner.show_text(LOST if is_lost else "")
        if self._is_active and connection == Connection.ONLINE:
            self._changed.update(self._selection)
            self._live_timer.start()

    # How it is put together

    def _arrange(self) -> None:
        page = QWidget()
        inner = QVBoxLayout(page)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(8)
        inner.addWidget(self.bar)
        inner.addWidget(self.toolbar)
        inner.addWidget(self.remark)
        inner.addWidget(self.grid, 1)
        inner.addWidget(self.chips)
        pages = QWidget()
        self._pages = QStackedLayout(pages)
        self._pages.addWidget(self.empty)
        self._pages.addWidget(page)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(4, 8, 4, 4)
        layout.setSpacing(8)
        layout.addWidget(self.banner)
        layout.addWidget(pages, 1)

    def _on_scroll_range_changed(self, _: int, longest: int) -> None:
        for card in self.cards:
            card.plot.area.wheel_needs_click = longest > 0

    def _timer(self, milliseconds: int, due: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(milliseconds)
        timer.timeout.connect(due)
        return timer
