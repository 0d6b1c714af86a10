"""RecentRunsCard: the newest runs, each a click away."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from mosaic.gui.state.welcome_state import RecentRun
from mosaic.gui.theme.theme import Theme
from mosaic.gui.widgets.roles import eliding_label, label, with_role, without_mnemonics
from mosaic.gui.widgets.state_badge import StateBadge

_BADGE_WIDTH = 96
_MOST_NAME_WIDTH = 180


class RecentRunsCard(QWidget):
    chosen = Signal(str)  # run id

    def __init__(self, theme: Theme) -> None:
        super().__init__()
        with_role(self, "card")
        self._theme = theme
        self._shown: tuple[RecentRun, ...] = ()
        self.buttons: dict[str, QPushButton] = {}
        self._rows = QWidget()
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(16, 10, 8, 8)
        self._layout.setSpacing(4)
        self._layout.addWidget(label("Recent runs", "section"))
        self._layout.addWidget(self._rows)
        self.hide()

    def show_runs(self, runs: Sequence[RecentRun]) -> None:
        """Nothing is shown where there is none."""
        if tuple(runs) == self._shown:
            return
        self._shown = tuple(runs)
        self.buttons = {}
        rows = with_role(QWidget(), "plain")
        layout = QVBoxLayout(rows)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        for run in runs:
            layout.addLayout(self._row(run))
        self._layout.replaceWidget(self._rows, rows)
        self._rows.deleteLater()
        self._rows = rows
        self.setVisible(bool(runs))

    def _row(self, run: RecentRun) -> QHBoxLayout:
        badge = StateBadge(self._theme, run.word)
        badge.setFixedWidth(_BADGE_WIDTH)
        button = with_role(QPushButton(), "flat")
        # A button does not shorten its text: one long name would make the page too wide to be seen.
        middle = Qt.TextElideMode.ElideMiddle
        name = button.fontMetrics().elidedText(run.name, middle, _MOST_NAME_WIDTH)
        button.setText(without_mnemonics(name))
        button.setToolTip(f"Show {run.name}")
        button.clicked.connect(partial(self.chosen.emit, run.run_id))
        self.buttons[run.run_id] = button
        row = QHBoxLayout()
        row.setSpacing(8)
        row.addWidget(badge)
        row.addWidget(button)
        detail = eliding_label(run.detail, "caption")
        detail.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        row.addWidget(detail, 1)
        row.addSpacing(8)
        return row
