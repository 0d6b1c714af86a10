"""WelcomeView: three examples that work, what the doctor says, and the newest runs."""

from __future__ import annotations

import importlib.util
import sys

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import MosaicError
from mosaic.front.machine_checks import check_machine
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.examples import EXAMPLES, Example, Start, Surroundings, document, obstacle
from mosaic.gui.state.notices import notice_of
from mosaic.gui.state.targets import Mode, Page, PlayTarget
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.welcome.cards import BundlesCard, ChecksCard, ExampleCard, RecentRunsCard
from mosaic.gui.welcome.model import WatchedExample, bundles_summary, check_rows, recent_runs
from mosaic.gui.widgets.roles import label, with_role
from mosaic.gui.widgets.stage_page import StagePage
from mosaic.wire.answers import Health, Submission

_WIDTH = 720


class WelcomePage(StagePage):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self._workbench = workbench
        self._is_shown = False
        self._is_asking = False  # the daemon, for what its workers have
        self._machine: list[CheckResult] = []
        self._checking: Task | None = None
        self._watched = WatchedExample(workbench.state)
        theme = workbench.theme
        self.cards = {
            example.start: ExampleCard(theme, example, is_first=number == 0)
            for number, example in enumerate(EXAMPLES)
        }
        self.checks = ChecksCard(theme)
        self.bundles = BundlesCard(theme)
        self.bundles.asked.connect(lambda: workbench.state.show_bundles())
        self.recent = RecentRunsCard(theme)
        for card in self.cards.values():
            card.started.connect(self._on_started)
        self.checks.asked_again.connect(self._check_again)
        self.recent.chosen.connect(self._on_run_chosen)
        self._lay_out()
        state = workbench.state
        state.connection_changed.connect(self._on_changed)
        state.workers_changed.connect(self._on_changed)
        state.catalogue_changed.connect(self._on_changed)
        state.bundles.changed.connect(self._on_bundles_changed)
        state.runs.changed.connect(self._on_runs_changed)
        state.runs.removed.connect(self._on_runs_changed)

    def open(self) -> None:
        self._is_shown = True
        self._check_machine()
        self._show()

    def leave(self) -> None:
        self._is_shown = False
        if self._checking is not None:
            self._checking.cancel()

    def show_checks(self) -> None:
        self.checks.unfold()
        self._check_again()
        self._scroll.ensureWidgetVisible(self.checks)

    def _lay_out(self) -> None:
        content = with_role(QWidget(), "plain")
        content.setMaximumWidth(_WIDTH)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        text = label(
            "Train agents, watch them live and compare what they learnt. "
            "Start with one of these, or choose an environment at the left.",
            "muted",
        )
        text.setWordWrap(True)
        layout.addWidget(label("Welcome to MOSAIC", "title"))
        layout.addWidget(text)
        layout.addSpacing(8)
        for card in (*self.cards.values(), self.checks, self.bundles, self.recent):
            layout.addWidget(card)
        layout.addStretch(1)
        around = with_role(QWidget(), "plain")
        across = QHBoxLayout(around)
        across.setContentsMargins(24, 20, 24, 20)
        across.addWidget(content, 1)
        across.setAlignment(content, Qt.AlignmentFlag(0))
        self._scroll = QScrollArea()
        self._scroll.setAccessibleName("Welcome")
        self._scroll.setWidgetResizable(True)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(around)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.addWidget(self._scroll)

    # What it shows

    def _on_changed(self, *_: object) -> None:
        if self._is_shown:
            self._show()

    def _on_bundles_changed(self) -> None:
        """Only what depends on them: an install tells something ten times a second."""
        if self._is_shown:
            self._show_bundles()

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if self._is_shown:
            self.recent.show_runs(recent_runs(self._workbench.state.runs.newest_first()))

    def _show(self) -> None:
        self._show_bundles()
        rows = check_rows(self._machine, self._workbench.state, self._is_asking)
        self.checks.show_rows(rows)
        self.recent.show_runs(recent_runs(self._workbench.state.runs.newest_first()))

    def _show_bundles(self) -> None:
        """And what becomes possible by them."""
        self.bundles.show_summary(bundles_summary(self._workbench.state.bundles.infos))
        around = self._surroundings()
        for card in self.cards.values():
            card.show_obstacle(obstacle(card.example, around))

    def _surroundings(self) -> Surroundings:
        state = self._workbench.state
        return Surroundings(
            state.workers,
            state.algorithms,
            state.connection is Connection.ONLINE,
            sys.executable,
            lambda module: importlib.util.find_spec(module) is not None,
            state.bundles,
        )

    def _check_machine(self) -> None:
        home = self._workbench.home
        self._checking = self._workbench.bridge.work(
            lambda: check_machine(home), self._on_machine_checked
        )

    def _on_machine_checked(self, results: list[CheckResult]) -> None:
        self._machine = results
        self._show()

    def _check_again(self) -> None:
        """Also asks every worker anew what it has; that takes the daemon a while."""
        bridge = self._workbench.bridge
        self._is_asking = True
        self._check_machine()
        bridge.ask(lambda client: client.workers(refresh=True), self._on_workers, self._on_failed)
        bridge.ask(lambda client: client.health(), self._on_health, self._on_failed)

    def _on_workers(self, workers: list[WorkerInfo]) -> None:
        self._is_asking = False
        self._workbench.state.set_workers(workers)

    def _on_health(self, health: Health) -> None:
        self._workbench.state.set_health(health)

    def _on_failed(self, error: MosaicError) -> None:
        self._is_asking = False
        self._workbench.state.say(notice_of(error))

    # What it starts

    def _on_started(self, example: Example) -> None:
        state = self._workbench.state
        if example.start is Start.PLAY:
            state.choose_environment(example.env_id)
            state.set_mode(Mode.HUMAN)
            state.show_play(PlayTarget(example.env_id, Mode.HUMAN))
            return
        card = self.cards[example.start]
        card.button.setEnabled(False)  # a second click would be a second run
        state.set_mode(Mode.AGENT)
        self._workbench.run_actions.submit(
            [document(example, self._surroundings())],
            lambda submissions: self._on_submitted(example, submissions),
            lambda error: self._on_refused(example, error),
            is_own=True,
        )

    def _on_submitted(self, example: Example, submissions: list[Submission]) -> None:
        self.cards[example.start].button.setEnabled(True)
        if example.start is Start.WATCH:
            self._watched.follow(submissions[0].run_id)

    def _on_refused(self, example: Example, error: MosaicError) -> None:
        self.cards[example.start].button.setEnabled(True)
        self._on_failed(error)

    def _on_run_chosen(self, run_id: str) -> None:
        self._workbench.state.select([run_id])
        self._workbench.state.show_page(Page.LIVE)
