"""UnexpectedErrors: an unforeseen error is logged and shown; the window stays open."""

from __future__ import annotations

import sys
import traceback
from types import TracebackType

from psygnal import EmitLoopError
from PySide6.QtCore import QObject, Qt, Signal

from mosaic.errors import MosaicError
from mosaic.gui.state.notices import Notice, Severity, notice_of
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.logs import get_logger

log = get_logger(__name__)


class UnexpectedErrors(QObject):
    """Python calls it for whatever leaves a slot, in whichever thread that was."""

    _happened = Signal(object)

    def __init__(self, state: WorkbenchState, log_path: str) -> None:
        super().__init__()
        self._state, self._log_path = state, log_path
        self._happened.connect(self._tell, Qt.ConnectionType.QueuedConnection)

    def install(self) -> None:
        sys.excepthook = self.take

    def remove(self) -> None:
        sys.excepthook = sys.__excepthook__

    def take(
        self,
        kind: type[BaseException],
        error: BaseException,
        trace: TracebackType | None,
    ) -> None:
        if not isinstance(error, Exception):
            sys.__excepthook__(kind, error, trace)
            return
        lines = "".join(traceback.format_exception(kind, error, trace))
        log.error("workbench.failed", error=repr(error), traceback=lines)
        self._happened.emit(error)

    def _tell(self, error: Exception) -> None:
        if isinstance(error, EmitLoopError) and isinstance(error.__cause__, Exception):
            error = error.__cause__  # somebody who heard of a change of the state
        if isinstance(error, MosaicError):
            self._state.say(notice_of(error))
            return
        reason = str(error).partition("\n")[0]
        self._state.say(
            Notice(
                f"Something went wrong in the workbench: {type(error).__name__}: {reason}. "
                f"No run is touched by this; the log is {self._log_path}",
                Severity.BAD,
                seconds=0,
            )
        )
