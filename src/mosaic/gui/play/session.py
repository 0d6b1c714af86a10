"""PlaySession: one run in which somebody plays, from its start to its end. Never blocks."""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from PySide6.QtCore import QObject, QTimer, Signal

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.bundles import InstallRequest
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import BundleError, MosaicError, RunStateError
from mosaic.gui.live.frame_reader import FrameReader
from mosaic.gui.play.model.plan import IDLE_LIMIT_S, SIGN_OF_LIFE_S, PlayFacts, PlayPlan, read_facts
from mosaic.gui.play.model.words import end_sentence
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.consent import Granted, ask_with_consent, submit_with_consent
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.live_watch import LiveFrames
from mosaic.gui.state.notices import notice_of

_LOOK_MS = 150  # between two looks at a session that is starting
_FPS = 60.0


class Phase(StrEnum):
    STARTING = "starting"
    PLAYING = "playing"
    OVER = "over"  # the run has ended, or never began


class PlaySession(QObject):
    """Ready when its environment and its policy are loaded and the first picture is there."""

    # The first argument is the session itself: there may be two for a moment.
    started = Signal(object)  # its run has an id
    ready = Signal(object)
    over = Signal(object, str)  # not by `end`; why, in a sentence
    arrived = Signal(object)  # LiveFrames
    answered = Signal()  # the worker has got what was sent
    unanswered = Signal(object)  # MosaicError: a command did not get through

    def __init__(self, workbench: Workbench, plan: PlayPlan, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.plan = plan
        self.phase = Phase.STARTING
        self.run_id = ""
        self.facts: PlayFacts | None = None
        self.frames = LiveFrames()
        self.is_kept = False  # it continues without the page
        self._workbench = workbench
        self._is_ended = False  # by us
        self._tasks: list[Task] = []
        self._reader: FrameReader | None = None
        self._waiting: list[dict[str, Any]] = []
        self._sending: Task | None = None
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._on_look_due)
        self._looking: Task | None = None
        # What has to be installed first, where that is why it is over.
        self.lacking: InstallRequest | None = None
        self._sign_of_life = QTimer(self)
        self._sign_of_life.setInterval(int(SIGN_OF_LIFE_S * 1000))
        self._sign_of_life.timeout.connect(self._on_sign_of_life_due)
        workbench.state.runs.changed.connect(self._on_runs_changed)
        workbench.state.runs.removed.connect(self._on_runs_removed)

    # What the page does with it

    def start(self) -> None:
        document, key = dict(self.plan.document), uuid.uuid4().hex

        async def submit(client: AsyncTrainerClient, granted: Granted) -> RunRecord:
            submission = await submit_with_consent(client, document, key, granted)
            return await client.get_run(submission.run_id)

        ask_with_consent(
            self._workbench.state,
            self._workbench.bridge,
            submit,
            self._on_submitted,
            self._on_refused,
            subject=str(document.get("run_name", "Playing")),
            begun=self._tasks.append,
        )

    def send(self, commands: Sequence[dict[str, Any]]) -> None:
        """In this order. Commands that come while others are on their way wait for them."""
        if self.phase is Phase.PLAYING and not self._is_ended:
            self._waiting += commands
            self._send_waiting()

    def show(self) -> None:
        """Its frames arrive from now on."""
        if self._reader is None and self.run_id:
            self._reader = FrameReader(self.run_id, 0, 1, _FPS, self)
            self._reader.arrived.connect(self._on_arrived)
            self._reader.start()
        if self.phase is Phase.STARTING and self.run_id:
            self._look.start()
        elif self.phase is Phase.PLAYING:
            self._sign_of_life.start()

    def hide(self) -> None:
        """They do not arrive any more; the run continues."""
        self._look.stop()
        self._sign_of_life.stop()
        if self._reader is not None:
            self._reader.stop()
            self._reader.deleteLater()
            self._reader = None

    def keep(self, is_kept: bool) -> None:
        """Whether it continues without the page, and without the window."""
        self.is_kept = is_kept
        limit_s = 0.0 if is_kept else IDLE_LIMIT_S
        self.send([{"cmd": "idle_limit", "value": limit_s}])

    def end(self) -> None:
        """The run ends, too, even if the window closes now."""
        was_playing = self.phase is Phase.PLAYING
        was_over = self.phase is Phase.OVER
        self._leave()
        if self.run_id and not was_over:
            run_id = self.run_id
            self._workbench.bridge.tell(lambda client: _end_run(client, run_id, was_playing))

    def _leave(self) -> None:
        if self._is_ended:
            return
        self._is_ended = True
        self.phase = Phase.OVER
        runs = self._workbench.state.runs
        runs.changed.disconnect(self._on_runs_changed)
        runs.removed.disconnect(self._on_runs_removed)
        self.hide()
        self._waiting.clear()
        # A request that is under way may start the run: its answer is waited for.
        if self.run_id:
            for task in self._tasks:
                task.cancel()
        if self._looking is not None:
            self._looking.cancel()

    # The run's beginning

    def _on_submitted(self, record: RunRecord) -> None:
        self.run_id = record.run_id
        state = self._workbench.state
        if self._is_ended:  # before it was known
            run_id = record.run_id
            self._workbench.bridge.tell(lambda client: _end_run(client, run_id, False))
            state.runs.update([record])
            return
        state.runs.update([record])
        self.started.emit(self)
        self.show()

    def _on_refused(self, error: MosaicError) -> None:
        name, to_fetch = error.details.get("bundle"), error.details.get("fetch_bytes")
        if isinstance(error, BundleError) and isinstance(name, str) and isinstance(to_fetch, int):
            self.lacking = InstallRequest(name, most_bytes=to_fetch)
        self._finish(notice_of(error).text)

    def _on_look_due(self) -> None:
        if self._looking is None or self._looking.is_done:
            run_id = self.run_id
            self._looking = self._workbench.bridge.ask(
                lambda client: client.get_run(run_id), self._on_record, lambda error: None
            )

    def _on_record(self, record: RunRecord) -> None:
        if record.is_over:
            self._finish(end_sentence(record))
            return
        self.facts = read_facts(record.manifest) or self.facts
        self._consider()

    def _consider(self) -> None:
        if self.phase is not Phase.STARTING or self.facts is None:
            return
        if self.frames.has_picture or self.facts.problem:
            self.phase = Phase.PLAYING
            self._look.stop()
            self._sign_of_life.start()
            self.ready.emit(self)

    def _on_arrived(self, frames: LiveFrames) -> None:
        self.frames = frames
        if self.phase is Phase.STARTING:
            if frames.has_picture and self.facts is None:
                self._on_look_due()
            self._consider()
        self.arrived.emit(frames)

    # The run's end

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        record = self._workbench.state.runs.get(self.run_id) if self.run_id in changed else None
        if record is not None and record.is_over and self.phase is not Phase.OVER:
            self._finish(end_sentence(record))

    def _on_runs_removed(self, gone: frozenset[str]) -> None:
        if self.run_id in gone and self.phase is not Phase.OVER:
            self._finish("The run of this session was deleted.")

    def _finish(self, sentence: str) -> None:
        if self.phase is not Phase.OVER:
            self._leave()
            self.over.emit(self, sentence)

    # Commands

    def _on_sign_of_life_due(self) -> None:
        self.send([{"cmd": "ping"}])

    def _send_waiting(self) -> None:
        if not self._waiting or (self._sending is not None and not self._sending.is_done):
            return
        commands, self._waiting = self._waiting, []
        run_id = self.run_id
        self._sending = self._workbench.bridge.ask(
            lambda client: _send(client, run_id, commands), self._on_answered, self._on_unanswered
        )
        self._tasks = [task for task in self._tasks if not task.is_done]
        self._tasks.append(self._sending)

    def _on_answered(self, _: None) -> None:
        self._sending = None
        self.answered.emit()
        self._send_waiting()

    def _on_unanswered(self, error: MosaicError) -> None:
        self._sending = None
        self._waiting.clear()
        # No surprise if the run is over: that will be reported in a moment.
        if not isinstance(error, RunStateError):
            self.unanswered.emit(error)


async def _send(client: AsyncTrainerClient, run_id: str, commands: list[dict[str, Any]]) -> None:
    for command in commands:
        await client.control(run_id, command)


async def _end_run(client: AsyncTrainerClient, run_id: str, is_listening: bool) -> None:
    """A session that was played has done what it was there for; one that never began has not."""
    try:
        if is_listening:
            await client.control(run_id, {"cmd": "stop"})
            return
    except MosaicError:
        pass
    await client.stop_run(run_id)
