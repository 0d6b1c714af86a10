"""BundleCheck: what the run of the open form needs and is not installed, as the daemon says it."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.contracts.bundles import VenvInfo, VenvNeed, VenvState
from mosaic.errors import MosaicError
from mosaic.gui.launch.model.bundle_offer import BundleOffer, offer_of
from mosaic.gui.launch.model.launch_form import Document, LaunchForm
from mosaic.gui.launch.model.launch_state import LaunchState
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.targets import Mode
from mosaic.gui.state.workbench_state import Connection
from mosaic.gui.state.worker_bundles import has_bundles, needs_of
from mosaic.wire.answers import Submission

# Asked when somebody stops typing.
_PAUSE_MS = 250


class BundleCheck(QObject):
    """Which venvs a config needs can be told here; what a joined one takes only the daemon knows,
    so a dry run tells, once for each that is not there."""

    changed = Signal()

    def __init__(self, workbench: Workbench, launch: LaunchState, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench, self._launch = workbench, launch
        self._bundles = workbench.state.bundles
        self._needs: tuple[VenvNeed, ...] = ()
        self._known: dict[tuple[VenvNeed, ...], tuple[VenvInfo, ...]] = {}
        self._fresh: set[tuple[VenvNeed, ...]] = set()  # of those, what is so still
        self._states = self._states_now()
        self._reading: Task | None = None
        self._asking: Task | None = None
        self._shown: BundleOffer | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._read)
        self._bundles.changed.connect(self._on_bundles_changed)
        workbench.state.connection_changed.connect(lambda _: self.look())

    @property
    def offer(self) -> BundleOffer | None:
        """About what was entered last, until there is an answer about what is entered now."""
        return self._shown

    def look(self) -> None:
        """Something was entered, chosen, installed or removed."""
        if self._form is None:
            self._drop()
            self._show((), None)
        else:
            self._timer.start()

    def stop(self) -> None:
        """What was found stays; nobody looks for more."""
        self._workbench.bundles.watch(self, False)
        self._drop()

    def _drop(self) -> None:
        self._timer.stop()
        for task in (self._reading, self._asking):
            if task is not None:
                task.cancel()
        self._reading = self._asking = None

    @property
    def _form(self) -> LaunchForm | None:
        """The open one, where its worker has bundles and could be started."""
        launch, state = self._launch, self._workbench.state
        if state.mode is not Mode.AGENT or launch.absent is not None:
            return None
        form = launch.form
        is_ready = has_bundles(form.worker_info) and form.problem() is None
        return form if is_ready else None

    def _read(self) -> None:
        """The config may be read from files, which may be slow."""
        self._drop()
        form = self._form
        if form is None:
            self._show((), None)
            return
        try:
            prepared = form.prepare()
        except MosaicError:
            return  # something else is wrong, and said elsewhere
        self._reading = self._workbench.bridge.work(
            prepared, lambda documents: self._on_read(form, documents), lambda _: None
        )

    def _on_read(self, form: LaunchForm, documents: list[Document]) -> None:
        """Runs that differ in their seeds need the same."""
        needs = needs_of(form.worker_info, documents[0])
        is_there = all(self._bundles.is_usable(need.name) for need in needs)
        if is_there or needs in self._fresh:
            self._show(needs, () if is_there else self._known[needs])
        elif self._workbench.state.connection is Connection.ONLINE:
            self._asking = self._workbench.bridge.ask(
                lambda client: client.submit(documents[0], dry_run=True),
                lambda submission: self._on_answer(needs, submission),
                lambda _: None,
            )

    def _on_answer(self, needs: tuple[VenvNeed, ...], submission: Submission) -> None:
        self._show(needs, submission.missing)

    def _show(self, needs: tuple[VenvNeed, ...], missing: tuple[VenvInfo, ...] | None) -> None:
        self._needs = needs
        if missing is not None:
            self._known[needs] = missing
            self._fresh.add(needs)
        self._tell()

    def _tell(self) -> None:
        found = self._found()
        if found != self._shown:
            self._shown = found
            # Somebody may install it elsewhere meanwhile.
            self._workbench.bundles.watch(self, found is not None)
            self.changed.emit()

    def _found(self) -> BundleOffer | None:
        form = self._form
        missing = [self._as_it_is(item) for item in self._known.get(self._needs, ())]
        missing = [item for item in missing if not item.is_usable]
        return None if form is None else offer_of(missing, self._subject(form))

    def _on_bundles_changed(self) -> None:
        """How far an install is, is in the list; what is missing is asked again after each."""
        states = self._states_now()
        if states != self._states:
            self._states = states
            self._fresh.clear()
            self.look()
        self._tell()

    def _states_now(self) -> list[tuple[str, VenvState]]:
        return [(item.name, item.state) for item in self._bundles.infos]

    def _as_it_is(self, info: VenvInfo) -> VenvInfo:
        return self._bundles.info(info.name) or info

    def _subject(self, form: LaunchForm) -> str:
        env_id = self._workbench.state.env_id if form.has_environment else ""
        is_joined = any("+" in need.name for need in self._needs)
        worker = form.worker_info
        title = worker.capabilities.metadata.name if worker and worker.capabilities else "The run"
        return env_id if env_id and is_joined else title
