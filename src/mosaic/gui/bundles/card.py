"""BundleCard: all about the chosen bundle: why one wants it, how an install goes, what to do."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QGridLayout,
    QHBoxLayout,
    QProgressBar,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from mosaic.contracts.bundles import InstallProgress
from mosaic.gui.bundles.model.card import (
    ACTION_TEXTS,
    PRIMARY,
    BundleAction,
    CardText,
    InstallTexts,
)
from mosaic.gui.widgets.roles import eliding_label, label, with_role

_FINE = 1000  # steps of the bar


class InstallView(QWidget):
    """How far an install is. Its size is the same whatever it says: numbers change all the time."""

    def __init__(self) -> None:
        super().__init__()
        self._texts = InstallTexts()
        self._name = ""
        self.bar = QProgressBar()
        self.bar.setRange(0, _FINE)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName("Progress of the install")
        self.percent = label("", "number")
        self.percent.ensurePolished()
        self.percent.setFixedWidth(self.percent.fontMetrics().horizontalAdvance("100 %") + 4)
        self.percent.setAlignment(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
        self.happening = eliding_label()
        self.amounts = eliding_label("", "caption")
        layout = QGridLayout(self)
        layout.setContentsMargins(0, 4, 0, 0)
        layout.setHorizontalSpacing(8)
        layout.setVerticalSpacing(2)
        layout.addWidget(self.happening, 0, 0)
        layout.addWidget(self.percent, 0, 1)
        layout.addWidget(self.bar, 1, 0, 1, 2)
        layout.addWidget(self.amounts, 2, 0, 1, 2)
        layout.setColumnStretch(0, 1)

    def show_progress(self, name: str, progress: InstallProgress, is_online: bool) -> None:
        if name != self._name:
            self._name, self._texts = name, InstallTexts()
        self.bar.setValue(round(min(1.0, max(0.0, progress.fraction)) * _FINE))
        self.percent.setText(progress.percent)
        self.happening.setText(self._texts.happening(progress, is_online))
        # A blank keeps the height of a line that has nothing to say yet.
        self.amounts.setText(self._texts.amounts(progress) or " ")


class BundleCard(QWidget):
    asked = Signal(str)  # a BundleAction

    def __init__(self) -> None:
        super().__init__()
        with_role(self, "card")
        self.setObjectName("bundle-card")
        self.text: CardText | None = None
        self._is_busy, self._is_online = False, True
        self.title = eliding_label("", "section")
        self.name = eliding_label("", "code")
        self.about, self.facts = label(), label("", "muted")
        self.problem, self.advice = label("", "error"), label("", "muted")
        self.path = eliding_label("", "code")
        self.path.setElideMode(Qt.TextElideMode.ElideLeft)  # its end tells it from others
        self.install = InstallView()
        self.buttons = {action: self._button(action) for action in BundleAction}
        for words in (self.about, self.facts, self.problem, self.advice):
            words.setWordWrap(True)
            words.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(16, 12, 16, 12)
        layout.setSpacing(4)
        for words in (self.title, self.name, self.about, self.facts, self.path):
            layout.addWidget(words)
        for words in (self.problem, self.advice):
            layout.addWidget(words)
        layout.addWidget(self.install)
        across = QHBoxLayout()
        across.setContentsMargins(0, 4, 0, 0)
        across.setSpacing(8)
        for button in self.buttons.values():
            across.addWidget(button)
        across.addStretch(1)
        layout.addLayout(across)

    def show_bundle(self, text: CardText, is_online: bool) -> None:
        if is_online != self._is_online:
            self._is_online = is_online
            self._show_buttons()
        if text.progress is not None:
            self.install.show_progress(text.name, text.progress, is_online)
        if self.text is not None and text == self.text:
            return
        self.text = text
        for words, value in (
            (self.title, text.title),
            (self.name, text.name if text.name != text.title else ""),
            (self.about, text.about),
            (self.facts, text.facts),
            (self.problem, text.problem),
            (self.advice, text.advice),
            (self.path, text.path),
        ):
            words.setText(value)
            words.setVisible(bool(value))
        self.install.setVisible(text.progress is not None)
        self._show_buttons()

    def show_busy(self, is_busy: bool) -> None:
        """While its files are read nothing else is done with it."""
        self._is_busy = is_busy
        self._show_buttons()

    @property
    def possible(self) -> tuple[BundleAction, ...]:
        return self.text.actions if self.text is not None and self._can_act else ()

    @property
    def _can_act(self) -> bool:
        return self._is_online and not self._is_busy

    def _show_buttons(self) -> None:
        offered = self.text.actions if self.text is not None else ()
        for action, button in self.buttons.items():
            button.setVisible(action in offered)
            button.setEnabled(self._can_act)
        verify = self.buttons[BundleAction.VERIFY]
        verify.setText("Verifying…" if self._is_busy else ACTION_TEXTS[BundleAction.VERIFY])

    def _button(self, action: BundleAction) -> QPushButton:
        button = QPushButton(ACTION_TEXTS[action], self)
        button.setObjectName(f"bundle-{action.value}")
        if action in PRIMARY:
            with_role(button, "primary")
        elif action is BundleAction.REMOVE:
            with_role(button, "danger")
        button.clicked.connect(partial(self.asked.emit, action.value))
        return button
