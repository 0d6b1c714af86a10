"""CurvePlot by itself: what it shows, and what mouse and keys do on it."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QImage, QWheelEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QToolTip
from pytestqt.qtbot import QtBot

from mosaic.gui.charts.model.curve import Curve, numbers
from mosaic.gui.charts.plot import WHEEL_HINT, CurvePlot
from mosaic.gui.state.runs_state import CURVES
from mosaic.gui.theme.theme import Theme
from tests.gui.conftest import WAIT_MS

LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def theme(qapp: QApplication) -> Theme:
    return Theme(qapp, "dark")


@pytest.fixture
def plot(qtbot: QtBot, theme: Theme) -> CurvePlot:
    made = CurvePlot(theme, "steps", "episodic return")
    qtbot.addWidget(made)
    made.resize(500, 360)
    made.show()
    qtbot.waitExposed(made)
    made.show_curves([line("one", 0), line("two", 1)])
    QApplication.processEvents()
    return made


def line(name: str, number: int, points: int = 101) -> Curve:
    xs = np.linspace(0.0, 1000.0, points)
    return Curve(name, CURVES[number % len(CURVES)], xs, xs * (number + 1))


def at(plot: CurvePlot, x: float) -> QPoint:
    """Where a place of the x axis is in the plot's own pixels."""
    view = plot.area.getPlotItem().getViewBox()
    y = sum(view.viewRange()[1]) / 2
    found: QPoint = plot.area.mapFromScene(view.mapViewToScene(QPointF(x, y)))
    return found


def drag(qtbot: QtBot, plot: CurvePlot, begin: float, end: float) -> None:
    viewport = plot.area.viewport()
    QTest.mousePress(viewport, LEFT, pos=at(plot, begin))
    QTest.mouseMove(viewport, at(plot, (begin + end) / 2))
    QTest.mouseMove(viewport, at(plot, end))
    QTest.mouseRelease(viewport, LEFT, pos=at(plot, end))


def shown_x(plot: CurvePlot) -> tuple[float, float]:
    low, high = plot.area.getPlotItem().getViewBox().viewRange()[0]
    return float(low), float(high)


def test_the_legend_has_each_curve_with_its_last_value(plot: CurvePlot) -> None:
    texts = {key: (entry.text(), entry.value) for key, entry in plot.legend.entries.items()}
    assert texts == {"one": ("one", "1,000"), "two": ("two", "2,000")}


def test_the_pointer_reads_every_curve(qtbot: QtBot, plot: CurvePlot) -> None:
    QTest.mouseMove(plot.area.viewport(), at(plot, 500))
    qtbot.waitUntil(lambda: plot.pointer_text.startswith("step "), timeout=WAIT_MS)
    values = [float(entry.value.replace(",", "")) for entry in plot.legend.entries.values()]
    assert values[0] == pytest.approx(500, abs=10)
    assert values[1] == pytest.approx(2 * values[0])
    plot.area.hovered.emit(None)
    assert plot.pointer_text == ""
    assert plot.legend.entries["one"].value == "1,000"


def test_a_click_in_the_legend_hides_a_curve_and_makes_room(qtbot: QtBot, plot: CurvePlot) -> None:
    top_before = plot.area.getPlotItem().getViewBox().viewRange()[1][1]
    QTest.mouseClick(plot.legend.entries["two"], LEFT)
    assert [curve.id for curve in plot.shown_curves] == ["one"]
    assert plot.area.getPlotItem().getViewBox().viewRange()[1][1] < top_before * 0.6
    plot.show_curves([line("one", 0), line("two", 1)])
    assert [curve.id for curve in plot.shown_curves] == ["one"], "hidden curves stay hidden"
    plot.legend.entries["two"].setFocus()
    QTest.keyClick(plot.legend.entries["two"], Qt.Key.Key_Space)
    assert len(plot.shown_curves) == 2


def test_dragging_chooses_a_range_and_a_double_click_shows_everything(
    qtbot: QtBot, plot: CurvePlot
) -> None:
    everything = shown_x(plot)
    with qtbot.waitSignal(plot.range_chosen, timeout=WAIT_MS) as chosen:
        drag(qtbot, plot, 200, 400)
    begin, end = chosen.args[0]
    assert begin == pytest.approx(200, abs=10) and end == pytest.approx(400, abs=10)
    assert shown_x(plot) == pytest.approx((begin, end))
    with qtbot.waitSignal(plot.range_chosen, timeout=WAIT_MS) as chosen:
        QTest.mouseDClick(plot.area.viewport(), LEFT, pos=at(plot, 300))
    assert chosen.args == [None]
    assert shown_x(plot) == everything


def test_keys_zoom_move_and_reset(qtbot: QtBot, plot: CurvePlot) -> None:
    everything = shown_x(plot)
    for key in (Qt.Key.Key_Plus, Qt.Key.Key_Plus, Qt.Key.Key_Right):
        QTest.keyClick(plot.area, key)
    begin, end = shown_x(plot)
    assert end - begin < 0.7 * (everything[1] - everything[0])
    assert (begin + end) / 2 > sum(everything) / 2
    QTest.keyClick(plot.area, Qt.Key.Key_0)
    assert shown_x(plot) == everything and plot.chosen_range is None


def wheel(
    plot: CurvePlot,
    place: QPoint,
    keys: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier,
) -> QWheelEvent:
    event = QWheelEvent(
        QPointF(place),
        QPointF(plot.area.mapToGlobal(place)),
        QPoint(),
        QPoint(0, 120),
        Qt.MouseButton.NoButton,
        keys,
        Qt.ScrollPhase.NoScrollPhase,
        False,
    )
    QApplication.sendEvent(plot.area.viewport(), event)
    return event


def test_the_wheel_zooms_where_the_pointer_is(plot: CurvePlot) -> None:
    wheel(plot, at(plot, 800))
    begin, end = shown_x(plot)
    assert begin > 100 and end > 900


def test_in_a_page_the_wheel_is_the_pages_until_the_plot_is_clicked(plot: CurvePlot) -> None:
    plot.area.wheel_needs_click = True
    plot.area.setFocus(Qt.FocusReason.TabFocusReason)  # as when a page opens: nobody chose it
    assert not wheel(plot, at(plot, 800)).isAccepted()
    assert plot.chosen_range is None and plot.pointer_text == WHEEL_HINT
    assert wheel(plot, at(plot, 800), Qt.KeyboardModifier.ControlModifier).isAccepted()
    assert plot.chosen_range is not None
    plot.show_everything()
    QTest.mouseClick(plot.area.viewport(), LEFT, pos=at(plot, 800))
    assert wheel(plot, at(plot, 800)).isAccepted()
    assert plot.chosen_range is not None
    QApplication.sendEvent(plot.area, QEvent(QEvent.Type.Leave))
    assert not wheel(plot, at(plot, 800)).isAccepted(), "the pointer was elsewhere in between"


def test_what_lies_below_a_tool_tip_can_be_clicked(qtbot: QtBot, plot: CurvePlot) -> None:
    QToolTip.showText(plot.mapToGlobal(QPoint(20, 20)), "words", plot)
    tips = [one for one in QApplication.topLevelWidgets() if one.inherits("QTipLabel")]
    assert tips, "a tool tip is shown"
    for tip in tips:
        assert tip.windowFlags() & Qt.WindowType.WindowTransparentForInput
    QToolTip.hideText()


def test_a_log_axis_leaves_gaps_for_what_it_cannot_show(plot: CurvePlot) -> None:
    curve = Curve("one", CURVES[0], numbers([0, 10, 100]), numbers([-5.0, 10.0, 1000.0]))
    plot.set_axes("steps", is_log_x=True, is_log_y=True)
    plot.show_curves([curve])
    (low_x, high_x), (low_y, high_y) = plot.area.getPlotItem().getViewBox().viewRange()
    assert low_x == pytest.approx(1.0, abs=0.1) and high_x == pytest.approx(2.0, abs=0.1)
    assert low_y == pytest.approx(1.0, abs=0.2) and high_y == pytest.approx(3.0, abs=0.2)


@pytest.mark.parametrize(
    "values",
    [[], [5.0], [5.0, 5.0, 5.0], [math.nan, math.nan], [1.0, math.nan, 3.0], [1e300, -1e300]],
)
def test_odd_curves_are_drawn_without_complaint(plot: CurvePlot, values: list[float]) -> None:
    xs = numbers([float(place) for place in range(len(values))])
    band = numbers(values)
    plot.show_curves([Curve("odd", CURVES[2], xs, band, lows=band, highs=band, faint=band)])
    assert not plot.grab().isNull()
    assert list(plot.legend.entries) == ["odd"]


def test_fifty_curves_scroll_in_their_legend(plot: CurvePlot) -> None:
    plot.show_curves([line(f"run {number}", number) for number in range(50)])
    QApplication.processEvents()
    assert len(plot.legend.entries) == 50
    assert plot.legend.height() < 120
    assert plot.area.height() >= 150
    plot.show_curves([line("one", 0)])
    assert list(plot.legend.entries) == ["one"]


def test_labels_of_runs_are_never_markup(plot: CurvePlot) -> None:
    plot.set_titles("steps", "<b>loss</b>")
    plot.show_curves([line("<img src=x>", 0)])
    assert plot.legend.entries["<img src=x>"].text() == "<img src=x>"


def test_another_theme_repaints_everything(plot: CurvePlot, theme: Theme) -> None:
    dark = plot.grab().toImage().pixelColor(250, 12)
    theme.choose("light")
    QApplication.processEvents()
    light = plot.image().pixelColor(3, 3)
    assert light.lightness() > 200 > dark.lightness()
    theme.choose("dark")


def test_pictures_are_saved_twice_as_fine(plot: CurvePlot, tmp_path: Path) -> None:
    image = plot.image()
    assert image.size() == plot.size() * 2
    # Something in the colour of the first curve is on it.
    colours = {image.pixelColor(x, y).name() for x in range(0, 1000, 3) for y in range(0, 720, 3)}
    assert len(colours) > 10
    plot.save_svg(tmp_path / "chart.svg")
    assert "<svg" in (tmp_path / "chart.svg").read_text()[:400]


CONSTANTS = (0.0, 1.0, 0.1, 1 / 3, 0.9, 500.0, -500.0, 1e-3, -2e-5, 1e-12, 1e-30, 1e5, -1e12, 7e15)


@pytest.mark.parametrize("value", CONSTANTS)
@pytest.mark.parametrize(
    "factors",
    [[1.0], [1.0, 1.0], [1.0] * 50, [1.0, math.nan, 1.0, 1.0], [1.0, 1 + 1e-15, 1 - 1e-15] * 5],
    ids=["one", "two", "many", "gaps", "rounded"],
)
def test_a_constant_has_a_plain_axis_and_a_line_in_its_middle(
    plot: CurvePlot, value: float, factors: list[float]
) -> None:
    xs = numbers([100.0 * place for place in range(1, len(factors) + 1)])
    plot.show_curves([Curve("flat", CURVES[0], xs, numbers(factors) * value)])
    QApplication.processEvents()
    low, high = plot.area.getPlotItem().getViewBox().viewRange()[1]
    assert low < value < high
    assert 0.3 < (value - low) / (high - low) < 0.7
    axis = plot.area.left
    levels = axis.tickValues(low, high, axis.size().height())
    texts = axis.tickStrings(levels[0][1], axis.scale, levels[0][0])
    assert 2 <= len(texts) <= 12 and len(set(texts)) == len(texts)
    assert max(map(len, texts)) <= 8, texts
    assert is_drawn(plot, CURVES[0])
    legend = plot.legend.entries["flat"].value
    assert (len(legend) <= 9 and float(legend.rstrip("kMGT").replace(",", ""))) or value == 0


def test_two_points_at_one_place_are_seen(plot: CurvePlot) -> None:
    plot.show_curves([Curve("flat", CURVES[0], numbers([8, 8]), numbers([500, 500]))])
    assert is_drawn(plot, CURVES[0])


@pytest.mark.parametrize("value", [5e-324, 1e300, -1.7e308])
def test_numbers_at_the_end_of_their_range_do_no_harm(plot: CurvePlot, value: float) -> None:
    plot.show_curves([Curve("flat", CURVES[0], numbers([1, 2]), numbers([value, value]))])
    assert all(map(math.isfinite, plot.area.getPlotItem().getViewBox().viewRange()[1]))
    plot.grab()


def is_drawn(plot: CurvePlot, colour: str) -> bool:
    """Whether the curve's colour, by half where an edge is smooth, is anywhere in the plot."""
    image = plot.area.grab().toImage().convertToFormat(QImage.Format.Format_RGB32)
    pixels = np.frombuffer(image.constBits(), np.uint8).reshape(image.height(), -1, 4)
    wanted = QColor(colour)
    away = np.abs(pixels[..., :3].astype(int) - (wanted.blue(), wanted.green(), wanted.red()))
    return int((away.max(axis=-1) < 120).sum()) >= 4
