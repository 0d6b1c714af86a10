"""LiveChecker: has the plan that is being typed checked, in the interpreter of its worker."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.contracts.bundles import InstallRequest
from mosaic.errors import MosaicError
from mosaic.front.plan_check import PlanCheck, PlanProblem
from mosaic.gui.plans.model.checking import Checked, CheckerState, Checking, checker_state
from mosaic.gui.services.workbench import Workbench

# Checked when somebody stops typing.
_PAUSE_MS = 300


class LiveChecker(QObject):
    """One check at a time; one about a text that is not there any more is ended at once."""

    changed = Signal()

    def __init__(self, workbench: Workbench, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench = workbench
        self._worker = ""
        self._text, self._role = "", ""
        self._check: PlanCheck | None = None
        self._is_open = False
        self._checking = Checking()
        self.state = CheckerState()
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._look)
        workbench.state.bundles.changed.connect(self._on_bundles_changed)
        workbench.state.workers_changed.connect(self._on_bundles_changed)

    @property
    def problems(self) -> tuple[PlanProblem, ...]:
        return self._checking.problems

    @property
    def failure(self) -> str:
        return self._checking.failure

    @property
    def is_current(self) -> bool:
        """What is known is about the text that is there now."""
        return self._checking.is_current and not self._timer.isActive()

    def open(self, worker: str) -> None:
        self._worker, self._is_open = worker, True
        self._workbench.bundles.watch(self, True)
        self._timer.start()

    def close(self) -> None:
        """Nothing of it goes on."""
        self._is_open = False
        self._timer.stop()
        self._checking.want(None)
        self._workbench.bundles.watch(self, False)
        if self._check is not None:
            self._check.stop()

    def look(self, text: str, role: str) -> None:
        """This is the plan now, for an agent of this role."""
        if (text, role) != (self._text, self._role):
            self._text, self._role = text, role
            self._timer.start()

    def install(self) -> None:
        """What checks plans; somebody agreed to its size."""
        missing = self.state.missing
        if missing is not None:
            request = InstallRequest(missing.name, most_bytes=missing.fetch_bytes)
            self._workbench.bundles.install(request)

    def _on_bundles_changed(self) -> None:
        if self._is_open:
            self._look()

    def _look(self) -> None:
        state = self._workbench.state
        self.state = checker_state(self._worker, state.worker(self._worker), state.bundles)
        checker = self.state.checker
        wanted = None if checker is None else Checked(self._text, self._role, checker)
        self._checking.want(wanted)
        self._go_on()
        self.changed.emit()

    def _go_on(self) -> None:
        if self._check is not None and self._checking.is_outdated:
            self._check.stop()
        wanted = self._checking.begin()
        if wanted is None:
            return
        check = self._check = PlanCheck(wanted.checker, wanted.text, wanted.role)
        self._workbench.bridge.work(check.run, self._on_checked, self._on_failed)

    def _on_checked(self, problems: tuple[PlanProblem, ...]) -> None:
        self._end(problems)

    def _on_failed(self, error: MosaicError) -> None:
        self._end((), error.message)

    def _end(self, problems: tuple[PlanProblem, ...], failure: str = "") -> None:
        self._check = None
        self._checking.end(problems, failure)
        if self._is_open:
            self._go_on()
            self.changed.emit()
