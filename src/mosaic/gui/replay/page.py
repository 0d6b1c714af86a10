"""ReplayPage: episodes of a run, step by step, compared with what was recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout, QWidget

from mosaic.contracts.replay import EpisodeRecording
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.front.replay_files import write_movie, write_picture
from mosaic.gui.replay import controls
from mosaic.gui.replay.model import heading, verdict_badge, verdict_sentence
from mosaic.gui.replay.player_panel import Offers, PlayerPanel
from mosaic.gui.replay.simulation_thread import (
    SimulationBegan,
    SimulationEvent,
    SimulationFailed,
    SimulationJob,
    SimulationThread,
    StepDrawn,
    StepsRead,
)
from mosaic.gui.replay.tables import SideTables
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.consent import ask_with_consent, recording_with_consent
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity, notice_of, sentence_of
from mosaic.gui.videos.model import list_videos
from mosaic.gui.widgets.choosers import ask_for_file
from mosaic.gui.widgets.roles import eliding_label, label
from mosaic.gui.widgets.stage_page import BackButton, StagePage
from mosaic.replay.simulation import Simulation
from mosaic.replay.verdict import ReplayVerdict

# A simulator that is killed is gone in a moment; a window that closes waits no longer for it.
_END_WAIT_S = 1.0
_MOST_CLIPS = 5


Chosen = Callable[[Path], None]


class _ThreadSignals(QObject):
    """From the threads of simulators into the window's."""

    told = Signal(object, object)
    done = Signal(object, object)


class ReplayPage(StagePage):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("replay-page")
        self._workbench = workbench
        self._run_id = ""
        self._record: RunRecord | None = None
        self._wanted_episode: int | None = None
        self._recording: EpisodeRecording | None = None
        self._asking: list[Task] = []
        self._granted: set[str] = set()  # what a person wants to run, while the window is open
        self._thread: SimulationThread | None = None
        self._jobs: dict[SimulationJob, str] = {}
        self._mail = _ThreadSignals(self)
        self._mail.told.connect(self._on_told, Qt.ConnectionType.QueuedConnection)
        self._mail.done.connect(self._on_done, Qt.ConnectionType.QueuedConnection)
        self.back_button = BackButton(workbench.theme, workbench.state.leave_page)
        self._title = eliding_label("", "section")
        self._heading = label("", "muted")
        self.verify_button = QPushButton("Verify")
        self.verify_button.setObjectName("replay-verify")
        self.verify_button.setToolTip("Simulate the whole episode and compare it with its record")
        self.verify_button.clicked.connect(self.verify)
        self.export_button = QPushButton("Export ▾")
        self.export_button.setObjectName("replay-export")
        menu = QMenu(self.export_button)
        menu.addAction("Video (MP4)…", self._on_video_asked)
        menu.addAction("Picture (PNG)…", self._on_picture_asked)
        self.export_button.setMenu(menu)
        self.panel = PlayerPanel(workbench.theme)
        self.side = SideTables(workbench)
        self.episodes, self.step_table = self.side.episodes, self.side.steps
        self._lay_out()
        self.panel.wanted.connect(self._on_wanted)
        self.panel.stepped.connect(self.step_table.show_step)
        self.step_table.chosen.connect(self.panel.seek)
        self.episodes.chosen.connect(self.show_episode)
        self.episodes.loaded.connect(self._on_episodes_loaded)
        workbench.state.runs.changed.connect(self._on_runs_changed)
        workbench.state.runs.removed.connect(self._on_runs_removed)
        self._set_exportable(False)

    # StagePage

    def open(self) -> None:
        target = self._workbench.state.replay
        if target is None:
            self._show_nothing()
            return
        if target.run_id != self._run_id:
            self._end_episode()
            self._run_id, self._record = target.run_id, None
        self._wanted_episode = target.episode
        self._show_title()
        self.panel.show_message("Reading the episodes…")
        self._ask_record()
        self.episodes.show_run(target.run_id)
        if target.episode is not None:
            self.show_episode(target.episode)
        elif self.episodes.model.rowCount():
            self._on_episodes_loaded()
        self.panel.picture.setFocus()

    def leave(self) -> None:
        if any(name == "export" for name in self._jobs.values()):
            self._workbench.state.say(Notice("The export was stopped with the replay"))
        thread = self._thread
        self._end_episode()
        self.episodes.leave()
        for job in self._jobs:
            job.end()
        for job in self._jobs:
            job.join(_END_WAIT_S)
        if thread is not None:
            thread.join(_END_WAIT_S)
        self._jobs.clear()

    # What the person does

    def show_episode(self, episode_index: int) -> None:
        self._end_episode()
        self.episodes.show_current(episode_index)
        self.panel.show_steps(None)
        self.step_table.show_steps(None)
        self._heading.setText(f"Episode {episode_index:,}")
        self.panel.show_message("Reading the recording…")
        run_id = self._run_id
        ask_with_consent(
            self._workbench.state,
            self._workbench.bridge,
            lambda client, granted: recording_with_consent(client, run_id, episode_index, granted),
            self.show_recording,
            self._on_failed,
            subject=self._title.text(),
            granted=self._granted,
            begun=self._asking.append,
        )

    def verify(self) -> None:
        if self._recording is not None:
            self.verify_button.setEnabled(False)
            self.verify_button.setText("Verifying…")
            self._start_job("verify", Simulation.verify)

    def export_video(self, path: Path) -> None:
        per_second = self.panel.player.steps_per_second
        self._start_job("export", lambda simulation: write_movie(simulation, per_second, path))
        self._workbench.state.say(Notice(f"Writing {path.name} …"))

    def export_picture(self, path: Path) -> None:
        step = self.panel.player.step
        self._start_job("export", lambda simulation: write_picture(simulation, step, path))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        match event.key():
            case controls.PLAY:
                self.panel.toggle()
            case controls.BACK:
                self.panel.step_by(-1)
            case controls.FORTH:
                self.panel.step_by(1)
            case controls.SLOWER:
                self.panel.go_slower()
            case controls.FASTER | Qt.Key.Key_Equal:
                self.panel.go_faster()
            case controls.LOOP:
                self.panel.transport.loop.toggle()
            case Qt.Key.Key_Home:
                self.panel.seek(0)
            case Qt.Key.Key_End:
                self.panel.seek(self.panel.player.steps)
            case _:
                super().keyPressEvent(event)

    # What the daemon answers

    def _ask_record(self) -> None:
        run_id = self._run_id
        self._asking.append(
            self._workbench.bridge.ask(
                lambda client: client.get_run(run_id), self._on_record, lambda error: None
            )
        )

    def _on_record(self, record: RunRecord) -> None:
        if record.run_id == self._run_id:
            self._record = record
            self._show_title()

    def _on_episodes_loaded(self) -> None:
        """Nobody asked for a certain one: the first of the list is shown."""
        if self._wanted_episode is not None or self._recording is not None:
            return
        first = self.episodes.model.episode(0)
        if first is not None:
            self.show_episode(first.episode_index)
            return
        self.panel.show_message(
            "No finished episode yet",
            "The list fills as episodes end. One that still goes on can be looked at, too.",
            (("Show the first episode", self._show_first),),
        )

    def _show_first(self) -> None:
        self.show_episode(0)

    def show_recording(self, recording: EpisodeRecording) -> None:
        self._recording = recording
        self._heading.setText(heading(recording))
        self.panel.show_message("Starting the simulator…", recording.env_id)
        self._set_exportable(False)
        self._thread = SimulationThread(recording, self._mail.told.emit)

    def _on_failed(self, error: MosaicError) -> None:
        self.panel.show_message("This episode cannot be shown", sentence_of(error), self._offers())

    # What the simulator says

    def _on_wanted(self, step: int, ahead: list[int]) -> None:
        if self._thread is not None:
            self._thread.show(step, ahead)

    def _on_told(self, thread: SimulationThread, event: SimulationEvent) -> None:
        if thread is not self._thread:
            return
        match event:
            case StepsRead(steps):
                self.panel.show_steps(steps)
                self.step_table.show_steps(steps)
                self.step_table.show_step(0)
            case SimulationBegan():
                self._set_exportable(True)
                self.panel.begin()
            case StepDrawn():
                self.panel.show_picture(event)
            case SimulationFailed(error):
                self._set_exportable(False)
                self.panel.show_message(
                    "This episode cannot be simulated", sentence_of(error), self._offers()
                )

    def _start_job(self, name: str, work: Callable[[Simulation], object]) -> None:
        if self._recording is not None:
            self._jobs[SimulationJob(self._recording, work, self._mail.done.emit)] = name

    def _on_done(self, job: SimulationJob, found: object) -> None:
        name = self._jobs.pop(job, "")
        if name == "verify":
            self._show_verify()
            if isinstance(found, ReplayVerdict):
                self.panel.show_verdict(verdict_badge(found))
                severity = Severity.GOOD if found.is_identical else Severity.BAD
                self._workbench.state.say(Notice(verdict_sentence(found), severity))
        elif name and isinstance(found, str):
            self._workbench.state.say(Notice(f"Written: {found}", Severity.GOOD))
        if name and isinstance(found, MosaicError):
            self._workbench.state.say(notice_of(found))

    # What it looks like

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.side.fit(self.width())

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setSpacing(8)
        head.addWidget(self.back_button)
        head.addWidget(self._title, 1)
        head.addWidget(self.verify_button)
        head.addWidget(self.export_button)
        middle = QWidget()
        inner = QVBoxLayout(middle)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(8)
        inner.addWidget(self._heading)
        inner.addWidget(self.panel, 1)
        body = QHBoxLayout()
        body.setSpacing(12)
        body.addWidget(self.side.left)
        body.addWidget(middle, 1)
        body.addWidget(self.side.right)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addLayout(body, 1)

    def _show_title(self) -> None:
        record = self._record or self._workbench.state.runs.get(self._run_id)
        name = record.run_name if record else self._run_id
        self._title.setText(f"Replay · {name}" if name else "Replay")

    def _show_nothing(self) -> None:
        self._title.setText("Replay")
        self.panel.show_steps(None)
        self.panel.show_message(
            "Nothing to replay", "Choose a run below, then Replay: its episodes are listed here."
        )

    def _show_verify(self) -> None:
        self.verify_button.setText("Verify")
        self.verify_button.setEnabled(self.export_button.isEnabled())

    def _set_exportable(self, is_possible: bool) -> None:
        self.export_button.setEnabled(is_possible)
        if "verify" not in self._jobs.values():
            self._show_verify()

    def _offers(self) -> Offers:
        """What the run has recorded itself, to be looked at instead."""
        if self._record is None or not self._record.paths:
            return ()
        try:
            videos = list_videos(self._record)
        except MosaicError:
            return ()
        return tuple(
            (f"Open {video.path.name}", partial(_open_outside, video.path))
            for video in reversed(videos[:_MOST_CLIPS])
        )

    def _on_video_asked(self) -> None:
        self._ask_for_path("Save the episode as a video", "Video (*.mp4)", "mp4", self.export_video)

    def _on_picture_asked(self) -> None:
        self._ask_for_path("Save this step", "Picture (*.png)", "png", self.export_picture)

    def _ask_for_path(self, title: str, pattern: str, suffix: str, chosen: Chosen) -> None:
        if self._recording is not None:
            name = f"{self._run_id}-episode-{self._recording.episode.episode_index}.{suffix}"
            ask_for_file(
                self, title, pattern, chosen, suggested=str(Path.home() / name), is_new=True
            )

    def _end_episode(self) -> None:
        for task in self._asking:
            task.cancel()
        self._asking.clear()
        self.panel.stop()
        if self._thread is not None:
            self._thread.end()
        self._thread = None
        self._recording = None
        self._set_exportable(False)

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        record = self._workbench.state.runs.get(self._run_id)
        if self._run_id in changed and record is not None and self.isVisible():
            self.episodes.show_finished(record.progress.episodes)

    def _on_runs_removed(self, gone: frozenset[str]) -> None:
        if self._run_id in gone and self.isVisible():
            self._end_episode()
            self.panel.show_steps(None)
            self.step_table.show_steps(None)
            self.panel.show_message(
                "The run was deleted", "Restore it, or choose another one to replay."
            )


def _open_outside(path: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
