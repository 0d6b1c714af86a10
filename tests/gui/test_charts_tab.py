"""The Charts tab in the real window, with real runs of a real daemon."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
from PySide6.QtCore import QPoint, Qt, QTimer
from PySide6.QtGui import QImage
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QFileDialog, QLabel, QToolButton
from pytestqt.qtbot import QtBot

from mosaic.contracts.metrics import EPISODIC_RETURN
from mosaic.front.policy_config import resuming_document
from mosaic.front.references import PolicyReference
from mosaic.gui.application import Application
from mosaic.gui.charts.card import ChartCard
from mosaic.gui.charts.page_bar import PageBar
from mosaic.gui.charts.plot import CurvePlot
from mosaic.gui.charts.tab import LOST, ChartsTab
from mosaic.gui.state.rerun import policy_of
from mosaic.gui.state.workbench_state import Connection
from tests.daemon_harness import DaemonHarness, run_document
from tests.gui.conftest import WAIT_MS
from tests.gui.workflow_steps import train_quickly, wait_trained

LEFT = Qt.MouseButton.LeftButton


def select(qtbot: QtBot, application: Application, *run_ids: str) -> ChartsTab:
    """Selects the runs and waits until their first chart has something to show."""
    state = application.state
    qtbot.waitUntil(lambda: all(run in state.runs for run in run_ids), timeout=WAIT_MS)
    state.select(run_ids)
    state.ask_tab("charts")
    panel = application.window.tabs_panel
    qtbot.waitUntil(lambda: panel.tab("charts") is not None, timeout=WAIT_MS)
    tab = panel.tab("charts")
    assert isinstance(tab, ChartsTab)
    qtbot.waitUntil(lambda: tab.metrics.is_known(run_ids), timeout=WAIT_MS)
    # Until then the curves of the run that was selected before are still there.
    keys = {
        *run_ids,
        *(f"group:{record.group}" for run in run_ids if (record := state.runs.get(run))),
    }
    qtbot.waitUntil(lambda: has_curves(tab, len(run_ids)) and are_of(tab, keys), timeout=WAIT_MS)
    return tab


def are_of(tab: ChartsTab, keys: set[str]) -> bool:
    return all(curve.key in keys for card in tab.cards for curve in card.plot.curves)


def has_curves(tab: ChartsTab, count: int) -> bool:
    return bool(tab.cards) and all(
        sum(not curve.is_empty for curve in card.plot.curves) >= count for card in tab.cards
    )


def finished(daemon: DaemonHarness, episodes: int = 20, **changes: object) -> str:
    run_id = daemon.submit(config={"episodes": episodes}, **changes)
    daemon.wait_over(run_id)
    return run_id


def test_a_finished_run_has_its_return_first(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = finished(daemon, run_name="short")
    tab = select(qtbot, application, run_id)
    assert application.window.tabs_panel.tab_ids[0] == "charts"
    (card,) = tab.cards
    assert "return" in card.metric_name
    (curve,) = card.plot.curves
    assert curve.label == "short"
    assert curve.colour == application.state.colours.of(run_id)
    points = daemon.client.series([run_id], [card.metric_name])[0]
    assert curve.xs.tolist() == list(points.last_steps)
    assert card.remark == ""


def test_several_runs_lie_over_each_other_and_seeds_become_a_band(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    document = run_document()
    worker = document["metadata"]["worker"]
    runs = [
        daemon.submit(
            run_name=f"sweep-{seed}",
            metadata={
                "group": "sweep",
                "worker": {"config": {**worker["config"], "seed": seed}},
            },
        )
        for seed in (1, 2, 3)
    ]
    for run_id in runs:
        daemon.wait_over(run_id)
    state = application.state
    qtbot.waitUntil(lambda: all(run in state.runs for run in runs), timeout=WAIT_MS)
    records = [state.runs.get(run) for run in runs]
    assert {record.group for record in records if record} == {"sweep"}
    tab = select(qtbot, application, runs[0])
    state.select(runs)
    qtbot.waitUntil(lambda: tab.cards[0].plot.curves[0].is_band, timeout=WAIT_MS)
    (band,) = tab.cards[0].plot.curves
    assert band.label == "sweep" and band.note == "3 seeds"
    assert tab.toolbar.band.isVisible()
    QTest.mouseClick(tab.toolbar.band, LEFT)
    qtbot.waitUntil(lambda: len(tab.cards[0].plot.curves) == 3, timeout=WAIT_MS)
    assert len({curve.colour for curve in tab.cards[0].plot.curves}) == 3


def test_charts_are_added_removed_and_remembered(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    tab = select(qtbot, application, finished(daemon))
    first = tab.charts[0]
    names = tab.metrics.names(application.state.selection)
    other = next(name for name in names if name != first)
    tab.chips.added.emit((other,))
    qtbot.waitUntil(lambda: has_curves(tab, 1) and tab.charts == (first, other), timeout=WAIT_MS)
    second_run = finished(daemon)
    tab = select(qtbot, application, second_run)
    assert tab.charts == (first, other)
    tab.cards[0].close_asked.emit(first)
    assert list(tab.charts) == [other]
    tab.cards[0].metric_chosen.emit(other, first)
    qtbot.waitUntil(lambda: has_curves(tab, 1), timeout=WAIT_MS)
    assert list(tab.charts) == [first]
    tab.cards[0].close_asked.emit(first)
    assert tab.charts, "the last chart cannot be taken away"


def test_a_chart_closed_before_the_metrics_of_its_run_are_known_stays_closed(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    tab = select(qtbot, application, finished(daemon))
    second_run = finished(daemon)  # now: a window begins with the newest one
    first = tab.charts[0]
    names = tab.metrics.names(application.state.selection)
    other = next(name for name in names if name != first)
    tab.chips.added.emit((other,))
    qtbot.waitUntil(lambda: second_run in application.state.runs, timeout=WAIT_MS)
    application.state.select((second_run,))
    assert not tab.metrics.is_known([second_run])
    tab.cards[0].close_asked.emit(first)
    assert tab.charts == (other,)
    select(qtbot, application, second_run)
    assert tab.charts == (other,)


def test_a_live_run_grows_while_it_is_looked_at(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = daemon.submit(config={"episodes": 1_000_000})
    tab = select(qtbot, application, run_id)
    card = tab.cards[0]
    before = float(card.plot.curves[0].xs[-1])
    qtbot.waitUntil(lambda: float(card.plot.curves[0].xs[-1]) > before, timeout=WAIT_MS)
    tab.set_active(False)
    assert not any(timer.isActive() for timer in tab.findChildren(QTimer))
    tab.set_active(True)
    daemon.client.stop_run(run_id)
    daemon.wait_over(run_id)
    last = daemon.client.get_run(run_id).progress.steps

    def is_whole() -> bool:
        stored = daemon.client.series([run_id], [card.metric_name], buckets=1)[0].last_steps[-1]
        return float(card.plot.curves[0].xs[-1]) == stored <= last

    qtbot.waitUntil(is_whole, timeout=WAIT_MS)


def zoom(card: ChartCard, begin: float, end: float) -> None:
    card.plot.area.region_dragged.emit(begin, end)


def test_zooming_asks_for_the_points_in_sight(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = finished(daemon, episodes=2500)
    tab = select(qtbot, application, run_id)
    card = tab.cards[0]

    def is_whole() -> bool:
        stored = daemon.client.series([run_id], [card.metric_name], buckets=1)[0]
        return stored.points == 2500 and card.plot.curves[0].xs[-1] == stored.last_steps[-1]

    qtbot.waitUntil(is_whole, timeout=WAIT_MS)
    whole = card.plot.curves[0]
    assert whole.lows is not None, "so many points come merged"
    last = float(whole.xs[-1])
    begin, end = last * 0.5, last * 0.6
    coarse = int(np.count_nonzero((whole.xs >= begin) & (whole.xs <= end)))

    def inside() -> int:
        xs = card.plot.curves[0].xs
        return int(np.count_nonzero((xs >= begin) & (xs <= end)))

    zoom(card, begin, end)
    qtbot.waitUntil(lambda: inside() > 2 * coarse, timeout=WAIT_MS)
    assert float(card.plot.curves[0].xs[-1]) == last, "the rest of the curve stays"
    tab.toolbar.fit.click()
    assert card.plot.chosen_range is None
    qtbot.waitUntil(lambda: inside() < 2 * coarse, timeout=WAIT_MS)


def test_smoothing_and_axes_change_what_is_drawn(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    tab = select(qtbot, application, finished(daemon))
    plot = tab.cards[0].plot
    tab.toolbar.slider.setValue(0)
    qtbot.waitUntil(lambda: plot.curves[0].faint is None, timeout=WAIT_MS)
    raw = plot.curves[0].ys
    tab.toolbar.slider.setValue(90)
    qtbot.waitUntil(lambda: plot.curves[0].faint is not None, timeout=WAIT_MS)
    assert np.ptp(plot.curves[0].ys) < np.ptp(raw)
    tab.toolbar.axis.setCurrentText("episodes")
    tab.toolbar.axis.activated.emit(tab.toolbar.axis.currentIndex())
    qtbot.waitUntil(lambda: plot.x_title == "episodes", timeout=WAIT_MS)
    assert plot.curves[0].xs.tolist() == list(range(1, 21))


def test_curves_stay_when_the_daemon_is_gone(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    tab = select(qtbot, application, finished(daemon))
    daemon.kill()
    state = application.state
    qtbot.waitUntil(lambda: state.connection is Connection.LOST, timeout=WAIT_MS)
    assert tab.banner.isVisible() and tab.banner.text == LOST
    assert has_curves(tab, 1)
    daemon.start()
    application.feeds.reconnect()
    qtbot.waitUntil(lambda: not tab.banner.isVisible(), timeout=WAIT_MS)
    assert has_curves(tab, 1)


def test_a_run_without_points_says_when_they_come(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = daemon.submit_script("hangs")
    daemon.wait_for(run_id, "EXEC", "RDY", "HSHK")
    state = application.state
    qtbot.waitUntil(lambda: run_id in state.runs, timeout=WAIT_MS)
    state.select([run_id])
    state.ask_tab("charts")
    panel = application.window.tabs_panel
    qtbot.waitUntil(lambda: panel.tab("charts") is not None, timeout=WAIT_MS)
    tab = panel.tab("charts")
    assert isinstance(tab, ChartsTab)

    def texts() -> list[str]:
        return [found.text() for found in tab.empty.findChildren(QLabel)]

    qtbot.waitUntil(lambda: "No points yet" in texts(), timeout=WAIT_MS)
    assert tab.empty.isVisible() and not tab.cards


def test_values_and_pictures_are_saved(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, tmp_path: Path
) -> None:
    tab = select(qtbot, application, finished(daemon))
    card = tab.cards[0]
    card.export.save_csv(tmp_path / "values.csv")
    card.export.save_png(tmp_path / "chart.png")
    card.export.save_svg(tmp_path / "chart.svg")
    names = {"values.csv", "chart.png", "chart.svg"}
    qtbot.waitUntil(lambda: {path.name for path in tmp_path.iterdir()} >= names, timeout=WAIT_MS)
    rows = (tmp_path / "values.csv").read_text().splitlines()
    assert len(rows) == 1 + len(card.plot.curves[0].xs)
    card.export.copy_image()
    assert QApplication.clipboard().image().width() == 2 * card.plot.width()


def test_the_file_dialog_blocks_nothing(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, tmp_path: Path
) -> None:
    tab = select(qtbot, application, finished(daemon))
    tab.cards[0].export.ask_csv()
    dialog = application.window.findChild(QFileDialog, "chart-save")
    assert dialog is not None and not dialog.isModal()
    dialog.fileSelected.emit(str(tmp_path / "chosen.csv"))
    qtbot.waitUntil(lambda: (tmp_path / "chosen.csv").exists(), timeout=WAIT_MS)
    dialog.close()


def test_a_file_that_cannot_be_written_is_told(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, tmp_path: Path
) -> None:
    tab = select(qtbot, application, finished(daemon))
    for save in (tab.cards[0].export.save_csv, tab.cards[0].export.save_png):
        with qtbot.waitSignal(application.bridge.failed, timeout=WAIT_MS):
            save(tmp_path / "missing" / "folder.out")


def test_a_resumed_training_is_one_curve_over_every_axis(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    first = wait_trained(daemon, train_quickly(daemon, timesteps=2048))
    record = daemon.client.get_run(first)
    policy = policy_of(record)
    reference = PolicyReference(policy.worker, policy.checkpoint, record)
    again = resuming_document(reference, total_timesteps=4096)
    second = wait_trained(daemon, daemon.client.start_run(again))
    own = {
        run: daemon.client.series([run], [EPISODIC_RETURN], buckets=0)[0] for run in (first, second)
    }
    assert own[second].last_steps[0] > 2048 >= own[first].last_steps[-1]
    tab = select(qtbot, application, second)
    plot = tab.cards[0].plot
    tab.toolbar.slider.setValue(0)
    steps = [*own[first].last_steps, *own[second].last_steps]
    qtbot.waitUntil(lambda: plot.curves[0].xs.tolist() == steps, timeout=WAIT_MS)
    values = [*own[first].means, *own[second].means]
    qtbot.waitUntil(lambda: plot.curves[0].ys.tolist() == values, timeout=WAIT_MS)
    (curve,) = plot.curves
    assert len(curve.joints) == 1 and own[first].last_steps[-1] <= curve.joints[0] <= 2048 + 500
    assert tab.toolbar.from_start.isVisible()

    for axis in ("episodes", "wall time"):
        tab.toolbar.axis.setCurrentText(axis)
        tab.toolbar.axis.activated.emit(tab.toolbar.axis.currentIndex())
        qtbot.waitUntil(partial(is_titled, plot, axis), timeout=WAIT_MS)
        (curve,) = plot.curves
        assert len(curve.xs) == len(steps) and (np.diff(curve.xs) >= 0).all()
    tab.toolbar.axis.setCurrentText("steps")
    tab.toolbar.axis.activated.emit(tab.toolbar.axis.currentIndex())
    QTest.mouseClick(tab.toolbar.from_start, LEFT)
    only_own = list(own[second].last_steps)
    qtbot.waitUntil(lambda: plot.curves[0].xs.tolist() == only_own, timeout=WAIT_MS)
    assert not len(plot.curves[0].joints)


def test_buttons_of_a_chart_stay_where_they_are(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    application.window.resize(1000, 700)
    tab = select(qtbot, application, finished(daemon))
    card = tab.cards[0]

    def places() -> list[QPoint]:
        buttons = card.findChildren(QToolButton)
        return [button.mapTo(tab, QPoint()) for button in buttons]

    names = tab.metrics.names(application.state.selection)
    qtbot.waitUntil(lambda: card.isVisible() and card.width() > 0, timeout=WAIT_MS)
    before = places()
    tab.chips.added.emit(tuple(names))
    qtbot.waitUntil(lambda: len(tab.cards) == len(names) > 1, timeout=WAIT_MS)
    qtbot.waitUntil(lambda: tab.grid.verticalScrollBar().isVisible(), timeout=WAIT_MS)
    assert places() == before, "neither the cross nor a scroll bar pushed them aside"


def is_titled(plot: CurvePlot, axis: str) -> bool:
    return plot.x_title.startswith(axis)


def add_all(qtbot: QtBot, application: Application, tab: ChartsTab) -> list[str]:
    names = tab.metrics.names(application.state.selection)
    tab.chips.added.emit(tuple(names))
    qtbot.waitUntil(lambda: len(tab.cards) == len(names) and has_curves(tab, 1), timeout=WAIT_MS)
    return names


def test_charts_stand_in_as_many_columns_as_have_room_or_as_are_chosen(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    tab = select(qtbot, application, finished(daemon))
    names = add_all(qtbot, application, tab)
    assert len(names) > 1
    tab.grid.resize(1000, 600)
    assert tab.grid.columns == min(2, len(names))
    one, two = tab.bar.columns_button.menu().actions()[1:3]
    one.trigger()
    assert tab.grid.columns == 1
    two.trigger()
    qtbot.waitUntil(lambda: tab.cards[0].y() == tab.cards[1].y(), timeout=WAIT_MS)
    again = PageBar(application.workbench.theme, application.workbench.settings, tab.export)
    assert again.columns == 2, "remembered"
    again.deleteLater()


def test_one_chart_alone_and_back_with_escape(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    application.window.resize(1400, 900)
    tab = select(qtbot, application, finished(daemon))
    add_all(qtbot, application, tab)
    card, other = tab.cards[0], tab.cards[1]
    width = tab.width()
    viewport = card.plot.area.viewport()
    QTest.mouseDClick(viewport, LEFT, pos=viewport.rect().center())
    assert tab.grid.alone is card and not other.isVisible()
    qtbot.waitUntil(lambda: tab.width() > width, timeout=WAIT_MS)
    QTest.keyClick(card.plot.area, Qt.Key.Key_Escape)
    assert tab.grid.alone is None and other.isVisible()
    qtbot.waitUntil(lambda: abs(tab.width() - width) < 8, timeout=WAIT_MS)
    last = float(card.plot.curves[0].xs[-1])
    zoom(card, last * 0.5, last * 0.8)
    assert card.plot.chosen_range is not None
    QTest.mouseDClick(viewport, LEFT, pos=viewport.rect().center())
    assert tab.grid.alone is None and card.plot.chosen_range is None, "first out of the zoom"


def test_a_filter_shows_every_metric_that_fits(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    tab = select(qtbot, application, finished(daemon))
    names = tab.metrics.names(application.state.selection)
    before = tab.charts
    tab.bar.field.setText("^epis.*(return|length)$")
    wanted = {name for name in names if name in ("episodic_return", "episodic_length")}
    qtbot.waitUntil(lambda: set(tab.charts) == wanted and has_curves(tab, 1), timeout=WAIT_MS)
    assert not tab.chips.isVisible()
    # A pattern that would try for ever gives up; one that is none is looked for as it stands.
    for text in ("nothing like this", "(e|i|s|p|o|d|c|_|.)*!", "((("):
        tab.bar.field.setText(text)
        qtbot.waitUntil(lambda: not tab.charts, timeout=WAIT_MS)
        assert tab.remark.text().startswith("No metric fits") and tab.remark.isVisible()
    tab.bar.field.setText("length")
    lengths = {name for name in names if "length" in name}
    qtbot.waitUntil(lambda: set(tab.charts) == lengths, timeout=WAIT_MS)
    QTest.keyClick(tab.bar.field, Qt.Key.Key_Escape)
    qtbot.waitUntil(lambda: tab.charts == before and has_curves(tab, 1), timeout=WAIT_MS)


def test_the_return_is_shown_beside_what_counts_as_solved_and_what_was_published(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_id = wait_trained(daemon, train_quickly(daemon))
    qtbot.waitUntil(lambda: bool(application.state.environments), timeout=WAIT_MS)
    tab = select(qtbot, application, run_id)
    plot = tab.cards[0].plot
    qtbot.waitUntil(lambda: len(plot.references) == 2, timeout=WAIT_MS)
    solved, published = plot.references
    assert solved.level == (475.0, 475.0) and solved.id in plot.legend.entries
    assert published.level is not None and published.level[0] < 490.04 < published.level[1]
    assert "CleanRL" in plot.legend.entries[published.id].toolTip()
    assert len(plot.curves) == 1
    QTest.mouseClick(plot.legend.entries[solved.id], LEFT)
    other = next(name for name in tab.metrics.names([run_id]) if "loss" in name)
    tab.chips.added.emit((other,))
    qtbot.waitUntil(lambda: other in tab.charts, timeout=WAIT_MS)
    assert not tab.cards[-1].plot.references, "a loss is not measured by a return"


def test_the_page_is_saved_as_pictures_and_as_one_table(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, tmp_path: Path
) -> None:
    tab = select(qtbot, application, finished(daemon))
    names = add_all(qtbot, application, tab)
    tab.export.save_png(tmp_path / "page.png")
    tab.export.save_svg(tmp_path / "page.svg")
    tab.export.save_csv(tmp_path / "page.csv")
    wanted = {"page.png", "page.svg", "page.csv"}
    qtbot.waitUntil(lambda: {path.name for path in tmp_path.iterdir()} >= wanted, timeout=WAIT_MS)
    rows = (tmp_path / "page.csv").read_text().splitlines()
    assert rows[0].startswith("metric,x_axis,curve,x,value")
    assert {row.partition(",")[0] for row in rows[1:]} == set(names)
    assert len(rows) == 1 + sum(len(card.plot.curves[0].xs) for card in tab.cards)
    picture = QImage(str(tmp_path / "page.png"))
    assert picture.height() > 2 * tab.cards[0].plot.height()
    tab.export.save_svg(tmp_path / "nowhere" / "page.svg")
    tab.export.ask_png()
    dialog = application.window.findChild(QFileDialog, "chart-save")
    assert dialog is not None and not dialog.isModal()
    dialog.close()
