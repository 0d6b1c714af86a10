"""SolvedBanner: above the centre, as soon as a training that is watched has solved its task."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QToolButton, QVBoxLayout, QWidget

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.run_record import RunRecord
from mosaic.front.solving import Solved, SolvingWatch, may_be_solved
from mosaic.gui.play.model.keys import NotPlayable
from mosaic.gui.play.model.plan import keys_for
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.targets import Mode, PlayTarget, ReplayTarget
from mosaic.gui.welcome.model import has_banner
from mosaic.gui.widgets.roles import eliding_label, label, with_role

_ICON = QSize(24, 24)


class SolvedBanner(QWidget):
    """Says when, and offers what one would like to do next. Runs of earlier days stay silent."""

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        with_role(self, "card")
        self.setObjectName("solved")
        self._workbench, self._state = workbench, workbench.state
        self._seen_live: set[str] = set()
        self._dismissed: set[str] = set()
        self._solved: dict[str, Solved] = {}
        self._asked: Task | None = None
        self._shown: RunRecord | None = None
        self._picture = QLabel()
        self.title, self.detail = label("", "section"), eliding_label("", "muted")
        self.watch = self._button("Watch it", self._on_watch)
        self.challenge = self._button("Challenge it", self._on_challenge)
        self.change = self._button("Change something", self._on_change)
        self.close_button = with_role(QToolButton(), "flat")
        self.close_button.setAccessibleName("Close")
        self.close_button.clicked.connect(self._on_close)
        self._lay_out()
        state = self._state
        state.runs.changed.connect(self._on_runs_changed)
        state.details_changed.connect(self._on_details_changed)
        state.selection_changed.connect(self._on_place_changed)
        state.page_changed.connect(self._on_place_changed)
        workbench.theme.changed.connect(self._draw)
        self._draw()
        self.hide()

    def _lay_out(self) -> None:
        top, buttons = QHBoxLayout(), QHBoxLayout()
        for row in (top, buttons):
            row.setSpacing(8)
        top.addWidget(self._picture)
        top.addWidget(self.title)
        top.addWidget(self.detail, 1)
        top.addWidget(self.close_button)
        for button in (self.watch, self.challenge, self.change):
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 8, 10)
        layout.setSpacing(6)
        layout.addLayout(top)
        layout.addLayout(buttons)

    def _button(self, text: str, clicked: object) -> QPushButton:
        button = QPushButton(text)
        button.clicked.connect(clicked)
        return button

    # When it is solved

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        run_id = self._state.leading_id
        record = self._state.runs.get(run_id) if run_id in changed else None
        if record is None:
            return
        if not record.is_over:
            self._seen_live.add(run_id)
        if run_id in self._solved:
            self._show()

    def _on_details_changed(self, record: RunRecord | None) -> None:
        """The whole record says whether it is a training at all."""
        if record is None:
            return
        if not record.is_over:
            self._seen_live.add(record.run_id)
        if record.run_id in self._seen_live and record.run_id not in self._solved:
            self._look(record)

    def _look(self, record: RunRecord) -> None:
        environment = self._state.environment(record.env_id)
        threshold = environment.reward_threshold if environment else None
        if threshold is None or not may_be_solved(record, threshold):
            return
        mean = record.progress.mean_return or 0.0
        # While it learns, its mean tells; in the end all of it is looked at.
        if (mean < threshold and not record.is_over) or self._asked is not None:
            return
        self._asked = self._workbench.bridge.ask(
            lambda client: _solved(client, record, threshold),
            lambda found: self._on_answer(record, found),
            lambda _: self._on_answer(record, None),
        )

    def _on_answer(self, record: RunRecord, found: Solved | None) -> None:
        self._asked = None
        if found is not None:
            self._solved[record.run_id] = found
            self._show()
        if self._state.details is not record:  # it was not looked at meanwhile
            self._on_details_changed(self._state.details)

    # What it shows

    def _on_place_changed(self, _: object) -> None:
        self._show()

    def _show(self) -> None:
        run_id = self._state.leading_id
        found, record = self._solved.get(run_id), self._state.runs.get(run_id)
        is_wanted = record is not None and has_banner(record, self._state.page)
        if found is None or record is None or not is_wanted or run_id in self._dismissed:
            self.hide()
            return
        self._shown = record
        self.title.setText(found.text[:1].upper() + found.text[1:])
        self.detail.setText(f"{record.env_id}: {found.reason}")
        self.detail.setToolTip(self.detail.text())
        environment = self._state.environment(record.env_id)
        is_playable = not isinstance(keys_for(record.env_id, environment), NotPlayable)
        self.challenge.setVisible(is_playable)
        self.show()

    def _draw(self) -> None:
        theme = self._workbench.theme
        icon = theme.icon("trophy-outline", theme.palette.good)
        self._picture.setPixmap(icon.pixmap(_ICON))
        self.close_button.setIcon(theme.icon("close", theme.palette.muted))

    # What it offers

    def _on_watch(self) -> None:
        if self._shown is not None:
            self._state.show_replay(ReplayTarget(self._shown.run_id))

    def _on_challenge(self) -> None:
        if self._shown is not None:
            env_id = self._shown.env_id
            self._state.choose_environment(env_id)
            self._state.set_mode(Mode.HUMAN)
            self._state.show_play(PlayTarget(env_id, Mode.HUMAN))

    def _on_change(self) -> None:
        if self._shown is not None:
            self._workbench.run_actions.edit(self._shown.run_id)

    def _on_close(self) -> None:
        self._dismissed.add(self._state.leading_id)
        self.hide()


async def _solved(client: AsyncTrainerClient, record: RunRecord, threshold: float) -> Solved | None:
    watch = SolvingWatch(threshold, record.started_at)
    async for episode in client.episodes(record.run_id):
        if (found := watch.add(episode)) is not None:
            return found
    return None
