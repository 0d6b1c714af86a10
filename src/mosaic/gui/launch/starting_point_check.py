"""StartingPointCheck: asks the daemon whether a training can begin with its checkpoint."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.errors import MosaicError
from mosaic.gui.launch.model.launch_state import LaunchState
from mosaic.gui.launch.model.starting_point import problem_of
from mosaic.gui.launch.model.train_form import TrainForm
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.workbench_state import Connection
from mosaic.wire.answers import Submission

# Asked when somebody stops typing.
_PAUSE_MS = 250


class StartingPointCheck(QObject):
    """The worker alone knows what fits, so a dry run tells, whenever something has changed."""

    refused = Signal()  # it does not fit any more

    def __init__(self, workbench: Workbench, launch: LaunchState, parent: QObject) -> None:
        super().__init__(parent)
        self._workbench, self._launch = workbench, launch
        self._asked: Task | None = None
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(_PAUSE_MS)
        self._timer.timeout.connect(self._ask)

    def look(self) -> None:
        """Whatever was found before stays until there is an answer about what is entered now."""
        form = self._form
        if form is None or not form.warm_start:
            self.stop()
            if form is not None:
                form.starting_point_problem = ""
        else:
            self._timer.start()

    def stop(self) -> None:
        self._timer.stop()
        if self._asked is not None:
            self._asked.cancel()
            self._asked = None

    @property
    def _form(self) -> TrainForm | None:
        form = self._launch.form
        return form if isinstance(form, TrainForm) else None

    def _ask(self) -> None:
        form = self._form
        is_online = self._workbench.state.connection is Connection.ONLINE
        if form is None or not is_online or not self._workbench.state.env_id:
            return
        try:
            document = form.prepare()()[0]
        except MosaicError:
            return  # something else is wrong, and said elsewhere
        self.stop()
        self._asked = self._workbench.bridge.ask(
            lambda client: client.submit(document, dry_run=True),
            lambda submission: self._on_answer(form, submission),
            lambda _: None,
        )

    def _on_answer(self, form: TrainForm, submission: Submission) -> None:
        problem = problem_of(submission)
        if problem != form.starting_point_problem:
            form.starting_point_problem = problem
            form.show_starting_point()
            if problem:
                self.refused.emit()
