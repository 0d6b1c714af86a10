"""10,000 runs in the workbench's table: loading, filtering, sorting, painting, scrolling, news.

The baseline of each row is a QTableWidget with an item for every cell, in the same run.
"""

from __future__ import annotations

import os

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import dataclasses
import statistics
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QTableView, QTableWidget, QTableWidgetItem

from benchmarks.report import Report
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.gui.application import Application
from mosaic.gui.runs.model.columns import Column
from mosaic.gui.runs.model.rows import row_of
from mosaic.gui.runs.panel import RunsPanel
from mosaic.gui.runs.table_model import ARRANGE_S
from mosaic.paths import Home

RUNS = 10_000
REPEATS = 9
SCROLL_STEPS = 100
NEWS = 100
SIZE = (1264, 400)
ENVIRONMENTS = ("CartPole-v1", "Acrobot-v1", "LunarLander-v3", "HalfCheetah-v4")


def sample(number: int) -> RunRecord:
    is_over = number % 50 != 0
    env_id = ENVIRONMENTS[number % len(ENVIRONMENTS)]
    return RunRecord(
        run_id=f"01BENCH{number:019}",
        run_name=f"ppo-{env_id}-seed{number}",
        worker="sample",
        state=RunState.TERM if is_over else RunState.EXEC,
        outcome=(Outcome.FAILED if number % 7 == 0 else Outcome.SUCCEEDED) if is_over else None,
        attempt=1,
        priority=0,
        created_at=1_700_000_000.0 + number,
        updated_at=1_700_000_000.0 + number,
        started_at=1_700_000_000.0 + number,
        finished_at=1_700_000_100.0 + number if is_over else None,
        env_id=env_id,
        progress=Progress(
            number * 7 % 1000, 1000, number, None, 1.0, number * 13 % 997 / 2, 5e3 + number
        ),
        revision=1,
    )


def timed_ms(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return (time.perf_counter() - began) * 1e3


def median_ms(acts: Iterable[Callable[[], object]]) -> float:
    return statistics.median(timed_ms(act) for act in acts)


def fill(widget: QTableWidget, records: list[RunRecord]) -> None:
    widget.setSortingEnabled(False)
    widget.setRowCount(len(records))
    widget.setColumnCount(len(Column))
    for place, record in enumerate(records):
        row = row_of(record)
        for column in Column:
            widget.setItem(place, column, QTableWidgetItem(row.text(column)))


def hide_others(widget: QTableWidget, text: str) -> None:
    """How a filter is usually made for a QTableWidget."""
    for place in range(widget.rowCount()):
        item = widget.item(place, Column.NAME)
        widget.setRowHidden(place, item is not None and text not in item.text().lower())


def change_items(widget: QTableWidget, records: list[RunRecord]) -> None:
    for place, record in enumerate(records):
        row = row_of(record)
        for column in Column:
            item = widget.item(place, column)
            if item is not None:
                item.setText(row.text(column))
    widget.viewport().repaint()


def scroll_frames_ms(table: QTableView) -> list[float]:
    """Each step painted before the next."""
    bar = table.verticalScrollBar()
    times = []
    for step in range(SCROLL_STEPS):
        bar.setValue(bar.maximum() * step // SCROLL_STEPS)
        times.append(timed_ms(table.viewport().repaint))
    bar.setValue(0)
    return times


def newer(records: list[RunRecord], revision: int) -> list[RunRecord]:
    return [
        dataclasses.replace(
            record,
            revision=revision,
            progress=dataclasses.replace(record.progress, steps=revision % 1000),
        )
        for record in records
    ]


def measure(
    report: Report, panel: RunsPanel, widget: QTableWidget, application: Application
) -> None:
    records = [sample(number) for number in range(RUNS)]
    runs, table, model = application.state.runs, panel.table, panel.model

    def row(what: str, ours_ms: float, plain_ms: float) -> None:
        ratio = f"{ours_ms / plain_ms:.2f} of {plain_ms:.1f} ms in a QTableWidget"
        report.add(what, f"{ours_ms:.1f} ms", ratio)

    def load() -> None:
        runs.load(records)
        model.refresh()
        table.viewport().repaint()

    def load_plain() -> None:
        fill(widget, records[::-1])
        widget.viewport().repaint()

    row("load 10,000 runs, painted", timed_ms(load), timed_ms(load_plain))
    assert model.rowCount() == widget.rowCount() == RUNS

    typed = ["c", "ca", "car", "cart", "cartp", "cartp state:f", "lunar", "seed77", ""]
    ours = median_ms(partial(panel.filter_field.setText, text) for text in typed)
    plain = median_ms(partial(hide_others, widget, text) for text in [*typed[:5], ""])
    row("one keystroke in the filter", ours, plain)
    assert model.rowCount() == RUNS

    orders = (Qt.SortOrder.AscendingOrder, Qt.SortOrder.DescendingOrder)
    columns = (Column.NAME, Column.RETURN, Column.STATE, Column.ELAPSED)
    ours = median_ms(partial(table.sort_by, c, o) for c in columns for o in orders)
    plain = median_ms(partial(widget.sortItems, c, o) for c in columns for o in orders)
    row("sort by a column", ours, plain)
    table.sort_by(Column.STARTED, Qt.SortOrder.DescendingOrder)

    ours = median_ms([table.viewport().repaint] * REPEATS)
    row("repaint all that is in sight", ours, median_ms([widget.viewport().repaint] * REPEATS))

    frames, plain_frames = scroll_frames_ms(table), scroll_frames_ms(widget)
    row("a scrolled frame, median", statistics.median(frames), statistics.median(plain_frames))
    slowest, plain_slowest = max(frames), max(plain_frames)
    row(f"a scrolled frame, slowest of {SCROLL_STEPS}", slowest, plain_slowest)

    def news(revision: int) -> None:
        runs.update(newer(records[-NEWS:], revision))
        model.refresh()
        table.viewport().repaint()

    ours = median_ms(partial(news, n) for n in range(2, 2 + REPEATS))
    plain = median_ms(
        partial(change_items, widget, newer(records[-NEWS:], n)) for n in range(2, 2 + REPEATS)
    )
    row(f"{NEWS} runs report at once, painted", ours, plain)


def main() -> None:
    report = Report("the table of runs, 10,000 of them")
    qt = QApplication.instance() or QApplication([])
    assert isinstance(qt, QApplication)
    with tempfile.TemporaryDirectory(prefix="mosaic-benchmark-") as folder:
        home = Home(Path(folder))
        application = Application(
            qt, home, lambda: AsyncTrainerClient(home, autostart=False), theme_name="dark"
        )
        panel = application.window.runs_panel
        # By itself: the rest of the window has benchmarks of its own.
        panel.setParent(None)
        panel.resize(*SIZE)
        panel.show()
        widget = QTableWidget()
        widget.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        widget.resize(*SIZE)
        widget.show()
        # The table puts its rows into another order only so often.
        deadline = time.monotonic() + ARRANGE_S
        while time.monotonic() < deadline:
            qt.processEvents()
        measure(report, panel, widget, application)
        widget.close()
        panel.close()
        application.close()
    report.print()


if __name__ == "__main__":
    main()
