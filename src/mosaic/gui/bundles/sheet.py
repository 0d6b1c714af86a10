"""PlanSheet: what would be fetched, or removed, until somebody agrees; in place, never modal."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QPushButton, QVBoxLayout, QWidget

from mosaic.contracts.bundles import Accelerator
from mosaic.gui.bundles.model.plans import BuildChoice, Plan
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import (
    eliding_label,
    label,
    set_property,
    with_role,
    without_mnemonics,
)


class PlanSheet(QWidget):
    agreed = Signal(object)  # the Plan that was shown
    dismissed = Signal()
    build_chosen = Signal(str)  # the value of an Accelerator

    def __init__(self) -> None:
        super().__init__()
        with_role(self, "card")
        set_property(self, "selected", True)
        self.setObjectName("bundle-sheet")
        self.plan: Plan | None = None
        self._choices: list[BuildChoice] = []
        self.builds: Segmented | None = None
        self.title = label("", "section")
        self.note = label("", "muted")
        for words in (self.title, self.note):
            words.setWordWrap(True)
        self._rows = QWidget()
        self._build_place = QVBoxLayout()
        self._build_place.setContentsMargins(0, 0, 0, 0)
        self.yes, self.no = QPushButton(), QPushButton("Cancel")
        self.yes.setObjectName("bundle-agree")
        self.no.setObjectName("bundle-dismiss")
        self.yes.clicked.connect(self._on_yes)
        self.no.clicked.connect(self.dismissed)
        buttons = QHBoxLayout()
        buttons.setContentsMargins(0, 4, 0, 0)
        buttons.setSpacing(8)
        buttons.addWidget(self.yes)
        buttons.addWidget(self.no)
        buttons.addStretch(1)
        layout = self._layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(8)
        layout.addWidget(self.title)
        layout.addLayout(self._build_place)
        layout.addWidget(self._rows)
        layout.addWidget(self.note)
        layout.addLayout(buttons)

    def show_plan(
        self,
        plan: Plan,
        choices: Sequence[BuildChoice] = (),
        chosen: Accelerator | None = None,
    ) -> None:
        if plan != self.plan:
            self.plan = plan
            self.title.setText(plan.title)
            self.note.setText(plan.note)
            self.note.setVisible(bool(plan.note))
            self.yes.setText(without_mnemonics(plan.yes))
            set_property(self.yes, "role", "danger" if plan.is_harmful else "primary")
            self._show_rows(plan)
        self._show_choices(list(choices), chosen)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.dismissed.emit()
            return
        button = next((item for item in (self.yes, self.no) if item.hasFocus()), None)
        if button is not None and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            button.click()
        else:
            super().keyPressEvent(event)

    def _on_yes(self) -> None:
        if self.plan is not None:
            self.agreed.emit(self.plan)

    def _show_rows(self, plan: Plan) -> None:
        rows = with_role(QWidget(), "plain")
        grid = QGridLayout(rows)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(2)
        grid.setColumnStretch(1, 1)
        for place, (what, value) in enumerate(plan.rows):
            grid.addWidget(label(what, "muted"), place, 0, Qt.AlignmentFlag.AlignTop)
            # A path has no blanks to be wrapped at: its end says more than a second line.
            is_path = Path(value).is_absolute()
            grid.addWidget(_path(value) if is_path else _words(value), place, 1)
        self._layout.replaceWidget(self._rows, rows)
        self._rows.hide()
        self._rows.deleteLater()
        self._rows = rows
        rows.show()

    def _show_choices(self, choices: list[BuildChoice], chosen: Accelerator | None) -> None:
        if choices != self._choices:
            self._choices = choices
            if self.builds is not None:
                self._build_place.removeWidget(self.builds)
                self.builds.hide()
                self.builds.deleteLater()
                self.builds = None
            if choices:
                self.builds = self._made(choices)
                self._build_place.addWidget(self.builds, 0, Qt.AlignmentFlag.AlignLeft)
        if self.builds is not None and chosen is not None:
            self.builds.choose(chosen.value)

    def _made(self, choices: list[BuildChoice]) -> Segmented:
        made = Segmented([(item.accelerator.value, item.text) for item in choices])
        made.setObjectName("bundle-builds")
        made.chosen.connect(self.build_chosen)
        return made


def _path(text: str) -> QWidget:
    found = eliding_label(text, "code")
    found.setElideMode(Qt.TextElideMode.ElideLeft)
    return found


def _words(text: str) -> QWidget:
    found = label(text)
    found.setWordWrap(True)
    return found
