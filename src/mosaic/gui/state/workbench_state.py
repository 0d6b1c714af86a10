"""WorkbenchState: what is selected and shown. Panels read it, and hear when it changes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import StrEnum

from psygnal import Signal

from mosaic.contracts.catalogue import AlgorithmInfo, EnvironmentInfo
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.front.human import amount
from mosaic.front.run_words import remarks_of
from mosaic.gui.state.bundles_state import BundlesState
from mosaic.gui.state.live_watch import LiveWatch
from mosaic.gui.state.notices import ConsentQuestion, Notice
from mosaic.gui.state.runs_state import RunColours, RunsState
from mosaic.gui.state.targets import FormTarget, Mode, Page, PlayTarget, ReplayTarget
from mosaic.wire.answers import Health

REMARK_S = 20.0  # a sentence about something else than what somebody is doing


class Connection(StrEnum):
    CONNECTING = "connecting"
    ONLINE = "online"
    LOST = "lost"


class WorkbenchState:
    connection_changed = Signal(str)
    health_changed = Signal(object)  # Health
    workers_changed = Signal()
    catalogue_changed = Signal()
    runs_listed = Signal()  # the daemon's whole list has come for the first time
    mode_changed = Signal(str)
    environment_changed = Signal(str)  # the id of the one that is chosen
    environment_asked = Signal(str)  # somebody wants to do something there
    selection_changed = Signal(tuple)  # ids, the first one leads
    colours_changed = Signal()  # of runs
    details_changed = Signal(object)  # the leading run's whole record, or None
    page_changed = Signal(str)
    form_asked = Signal(object)  # FormTarget
    tab_asked = Signal(str)  # the id of a tab that shall come to the front
    said = Signal(object)  # Notice
    consent_asked = Signal(object)  # ConsentQuestion

    def __init__(self) -> None:
        self.runs = RunsState()
        self.colours = RunColours()
        self.connection = Connection.CONNECTING
        self.connection_problem = ""
        self.is_daemon_stopped = False  # on purpose: it comes back when somebody asks for it
        self.health: Health | None = None
        self.workers: tuple[WorkerInfo, ...] = ()
        self.algorithms: tuple[AlgorithmInfo, ...] = ()
        self.environments: tuple[EnvironmentInfo, ...] = ()
        self.mode = Mode.AGENT
        self.env_id = "CartPole-v1"
        self.selection: tuple[str, ...] = ()
        self.details: RunRecord | None = None
        self._remarks_said: set[tuple[str, str]] = set()
        self.page = Page.WELCOME
        self.replay: ReplayTarget | None = None
        self.play: PlayTarget | None = None
        self.compared: tuple[str, ...] = ()
        self._compared_groups: dict[str, str] = {}
        self._are_seeds_apart = False
        self.live = LiveWatch()
        self.bundles = BundlesState()
        self.runs.removed.connect(self._on_runs_removed)

    # What the daemon says

    def set_connection(
        self, connection: Connection, problem: str = "", *, is_stopped: bool = False
    ) -> None:
        known = (self.connection, self.connection_problem, self.is_daemon_stopped)
        if (connection, problem, is_stopped) != known:
            self.connection, self.connection_problem = connection, problem
            self.is_daemon_stopped = is_stopped
            self.connection_changed.emit(connection.value)

    def set_health(self, health: Health) -> None:
        if health != self.health:
            self.health = health
            self.health_changed.emit(health)

    def set_workers(self, workers: Iterable[WorkerInfo]) -> None:
        self.workers = tuple(workers)
        self.workers_changed.emit()

    def set_catalogue(
        self, algorithms: Iterable[AlgorithmInfo], environments: Iterable[EnvironmentInfo]
    ) -> None:
        self.algorithms, self.environments = tuple(algorithms), tuple(environments)
        self.catalogue_changed.emit()

    def environment(self, env_id: str) -> EnvironmentInfo | None:
        return next((item for item in self.environments if item.id == env_id), None)

    def worker(self, name: str) -> WorkerInfo | None:
        return next((item for item in self.workers if item.name == name), None)

    def set_details(self, record: RunRecord | None) -> None:
        """Of the leading run; what arrives late for another one is dropped."""
        if record is not None and record.run_id != self.leading_id:
            return
        self.details = record
        self.details_changed.emit(record)
        if record is not None and not record.is_over:
            self._say_remarks(record)

    def _say_remarks(self, record: RunRecord) -> None:
        """What its worker wants people to know, once, as soon as somebody looks at the run."""
        remarks = {(record.run_id, remark): remark for remark in remarks_of(record)}
        new = [text for key, text in remarks.items() if key not in self._remarks_said]
        if new:
            self._remarks_said.update(remarks)
            rest = f" (and {amount(len(new) - 1, 'more note')} in its config)" if new[1:] else ""
            self.say(Notice(f"{record.run_name}: {new[0]}{rest}", seconds=REMARK_S))

    # What the person chooses

    @property
    def leading_id(self) -> str:
        return self.selection[0] if self.selection else ""

    def set_mode(self, mode: Mode) -> None:
        if mode != self.mode:
            self.mode = mode
            self.mode_changed.emit(mode.value)

    def choose_environment(self, env_id: str) -> None:
        if env_id != self.env_id:
            self.env_id = env_id
            self.environment_changed.emit(env_id)

    def ask_environment(self, env_id: str) -> None:
        """Chooses it, and a form that can use it."""
        self.choose_environment(env_id)
        self.environment_asked.emit(env_id)

    def select(self, run_ids: Iterable[str]) -> None:
        chosen = tuple(dict.fromkeys(run_ids))
        if chosen == self.selection:
            return
        is_new_lead = chosen[:1] != self.selection[:1]
        self.selection = chosen
        self._colour_runs()
        if is_new_lead:
            self.details = None
        self.selection_changed.emit(chosen)
        if is_new_lead:
            self.details_changed.emit(None)
        if self._is_elsewhere(chosen):
            self.show_page(Page.LIVE)

    def _is_elsewhere(self, selection: tuple[str, ...]) -> bool:
        """Whether the centre is about other runs than the one that was selected just now."""
        if len(selection) != 1:
            return False
        is_other_replay = self.replay is None or self.replay.run_id != selection[0]
        if self.page is Page.REPLAY:
            return is_other_replay
        return self.page in (Page.COMPARE, Page.TRASH, Page.BUNDLES)

    def colour_seeds_apart(self, is_apart: bool) -> None:
        """Runs of one group have one colour, unless their curves are drawn one by one."""
        self._are_seeds_apart = is_apart
        self._colour_runs()

    def colour_together(self, groups: Mapping[str, str]) -> None:
        """Runs that have one curve in a comparison, with the names of their groups."""
        self._compared_groups = dict(groups)
        self._colour_runs()

    def _colour_runs(self) -> None:
        is_comparing = self.page is Page.COMPARE
        shown = dict.fromkeys((*self.selection, *(self.compared if is_comparing else ())))
        groups: dict[str, str] = {}
        if not self._are_seeds_apart:
            records = [self.runs.get(run) for run in shown]
            groups = {record.run_id: record.group for record in records if record is not None}
        if is_comparing:
            groups |= {run: f"compared {name}" for run, name in self._compared_groups.items()}
        before = [self.colours.of(run) for run in shown]
        self.colours.show(shown, groups)
        if [self.colours.of(run) for run in shown] != before:
            self.colours_changed.emit()

    def show_page(self, page: Page) -> None:
        """Also emitted for the same page: what it shows may be another."""
        is_comparing = Page.COMPARE in (page, self.page)
        self.page = page
        if is_comparing:
            self._colour_runs()
        self.page_changed.emit(page.value)

    def leave_page(self) -> bool:
        """Back to the selected run; False where the page is none that one comes back from."""
        if self.page not in (Page.REPLAY, Page.COMPARE, Page.TRASH, Page.BUNDLES):
            return False
        self.show_page(Page.LIVE if self.selection else Page.WELCOME)
        return True

    def show_replay(self, target: ReplayTarget) -> None:
        self.replay = target
        self.show_page(Page.REPLAY)

    def show_play(self, target: PlayTarget) -> None:
        self.play = target
        self.show_page(Page.PLAY)

    def compare(self, run_ids: Iterable[str]) -> None:
        self.compared = tuple(run_ids)
        self.show_page(Page.COMPARE)

    def show_bundles(self, name: str = "") -> None:
        """`name`: of the one that somebody wants to see."""
        self.bundles.asked_name = name
        self.show_page(Page.BUNDLES)

    def ask_form(self, target: FormTarget) -> None:
        self.form_asked.emit(target)

    def ask_tab(self, tab_id: str) -> None:
        self.tab_asked.emit(tab_id)

    def say(self, notice: Notice) -> None:
        self.said.emit(notice)

    def ask_consent(self, question: ConsentQuestion) -> None:
        self.consent_asked.emit(question)

    def _on_runs_removed(self, gone: frozenset[str]) -> None:
        self.select(run for run in self.selection if run not in gone)
