"""ReplayPage: episodes of a run, step by step, compared with what was recorded."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, Qt, QUrl, Signal
from PySide6.QtGui import QDesktopServices, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import QHBoxLayout, QMenu, QPushButton, QVBoxLayout

from mosaic.analytics.agents.values import ValuesRead
from mosaic.contracts.events import EpisodeSummary
from mosaic.contracts.replay import EpisodeRecording
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.front.replay_files import write_movie, write_picture
from mosaic.gui.replay import controls
from mosaic.gui.replay.beside_chooser import BesideChooser
from mosaic.gui.replay.episode_source import EpisodeSource, first_episode
from mosaic.gui.replay.model.beside import BesideChoice, beside_choices, beside_heading
from mosaic.gui.replay.model.episode import EpisodeSteps
from mosaic.gui.replay.model.words import heading, verdict_badge, verdict_sentence
from mosaic.gui.replay.player_panel import PlayerPanel
from mosaic.gui.replay.screen import Offers
from mosaic.gui.replay.simulation_thread import SimulationJob
from mosaic.gui.replay.tables import SideTables
from mosaic.gui.replay.told_steps import ToldSteps, told_steps
from mosaic.gui.replay.value_history import ValueHistory
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import Notice, Severity, notice_of, sentence_of
from mosaic.gui.videos.model import list_videos
from mosaic.gui.widgets.choosers import ask_for_file
from mosaic.gui.widgets.roles import eliding_label
from mosaic.gui.widgets.stage_page import BackButton, StagePage
from mosaic.replay.simulation import Simulation
from mosaic.replay.verdict import ReplayVerdict

# A simulator that is killed is gone in a moment; a window that closes waits no longer for it.
_END_WAIT_S = 1.0
_MOST_CLIPS = 5
_STRIPS_SETTING = "replay/strips"


Chosen = Callable[[Path], None]


class _JobSignals(QObject):
    """From the threads of jobs into the window's."""

    done = Signal(object, object)


class ReplayPage(StagePage):
    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("replay-page")
        self._workbench = workbench
        self._run_id = ""
        self._record: RunRecord | None = None
        self._wanted_episode: int | None = None
        self._asking: list[Task] = []  # about the episode that is shown
        self._asking_record: Task | None = None
        self._failure: tuple[str, MosaicError] | None = None  # why there is no picture
        self._choosing: Task | None = None  # which episode is the best of another run
        self._beside_run = ""
        granted: set[str] = set()  # what a person wants to run, while the window is open
        self.source = EpisodeSource(workbench, granted)
        self.beside_source = EpisodeSource(workbench, granted)
        self._jobs: dict[SimulationJob, str] = {}
        self._mail = _JobSignals(self)
        self._mail.done.connect(self._on_done, Qt.ConnectionType.QueuedConnection)
        self.back_button = BackButton(workbench.theme, workbench.state.leave_page)
        self._title = eliding_label("", "section")
        self.beside_button = QPushButton("Beside…")
        self.beside_button.setObjectName("replay-beside")
        self.beside_button.clicked.connect(self.toggle_beside)
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
        self.mind = self.side.mind
        self.values = ValueHistory(workbench.bridge, self._on_values_read)
        self.chooser = BesideChooser(self, self._beside_choices)
        self.chooser.chosen.connect(self.show_beside)
        self._lay_out()
        self._connect_sources()
        self.panel.wanted.connect(self._on_wanted)
        self.panel.beside_closed.connect(self._on_beside_closed)
        self.panel.transport.strips_toggled.connect(self._on_strips_toggled)
        is_wanted = str(workbench.settings.value(_STRIPS_SETTING, "true")) == "true"
        self.panel.transport.strips.setChecked(is_wanted)
        self.panel.stepped.connect(self.step_table.show_step)
        self.panel.stepped.connect(self.mind.show_step)
        self.step_table.chosen.connect(self.panel.seek)
        self.episodes.chosen.connect(self.show_episode)
        self.episodes.loaded.connect(self._on_episodes_loaded)
        workbench.state.runs.changed.connect(self._on_runs_changed)
        workbench.state.runs.removed.connect(self._on_runs_removed)
        self._set_exportable(False)
        self._show_beside_button()

    def _connect_sources(self) -> None:
        source, beside, panel = self.source, self.beside_source, self.panel
        source.read.connect(self._on_read)
        source.steps_read.connect(self._on_steps_read)
        source.began.connect(self._on_began)
        source.drawn.connect(panel.show_picture)
        source.observed.connect(panel.strips.show_observed)
        source.failed.connect(self._on_failed)
        beside.read.connect(self._on_beside_read)
        beside.steps_read.connect(panel.show_beside_steps)
        beside.began.connect(panel.begin_beside)
        beside.drawn.connect(panel.show_beside_picture)
        beside.failed.connect(
            lambda title, error: panel.show_beside_message(title, sentence_of(error))
        )

    # StagePage

    def open(self) -> None:
        target = self._workbench.state.replay
        if target is None:
            self._show_nothing()
            return
        if target.run_id != self._run_id:
            self._end_episode()
            self.panel.close_beside()
            self._run_id, self._record = target.run_id, None
            self.mind.show_episode(None, None, 0)
            self.values.show_run(None)
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
        self._end_episode()
        if self._asking_record is not None:
            self._asking_record.cancel()
        self.panel.close_beside()
        self.panel.strips.stop()
        self.chooser.hide()
        self.episodes.leave()
        self.values.stop()
        for job in self._jobs:
            job.end()
        for job in self._jobs:
            job.join(_END_WAIT_S)
        for source in (self.source, self.beside_source):
            source.join(_END_WAIT_S)
        self._jobs.clear()

    # What the person does

    def show_episode(self, episode_index: int) -> None:
        self._end_episode()
        self.episodes.show_current(episode_index)
        self.panel.show_steps(None)
        self.step_table.show_steps(None)
        self.mind.show_episode(None, None, 0)
        self.panel.main.show_heading(f"Episode {episode_index:,}")
        self.panel.show_message("Reading the recording…")
        self.source.show_episode(self._run_id, episode_index, self._title.text())

    def verify(self) -> None:
        if self.source.recording is not None:
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

    def toggle_beside(self) -> None:
        """Asks which episode shall be beside this one; or back to one."""
        if self.panel.has_beside:
            self.panel.close_beside()
        else:
            self.chooser.open(self.beside_button)

    def show_beside(self, choice: BesideChoice) -> None:
        self._stop_choosing()
        self._beside_run = choice.run_id
        self.side.set_shown(False)
        self.panel.open_beside(f"{choice.title} · {choice.note}")
        self._show_beside_button()
        self._show_headings()
        if choice.episode is not None:
            self.beside_source.show_episode(choice.run_id, choice.episode, choice.note)
            return
        self._choosing = self._workbench.bridge.ask(
            lambda client: first_episode(client, choice.run_id, choice.order),
            partial(self._on_beside_found, choice),
            lambda error: self.panel.show_beside_message("No episode", sentence_of(error)),
        )

    def keyPressEvent(self, event: QKeyEvent) -> None:
        by = -1 if event.modifiers() & Qt.KeyboardModifier.ShiftModifier else 1
        match event.key():
            case controls.BEST:
                self.episodes.walk("best", by)
            case controls.WORST:
                self.episodes.walk("worst", by)
            case controls.BESIDE:
                self.toggle_beside()
            case controls.STRIPS:
                self.panel.transport.strips.toggle()
            case Qt.Key.Key_Escape if self.panel.has_beside:
                self.panel.close_beside()
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
        if self._asking_record is not None:
            self._asking_record.cancel()
        self._asking_record = self._workbench.bridge.ask(
            lambda client: client.get_run(run_id), self._on_record, lambda error: None
        )

    def _on_record(self, record: RunRecord) -> None:
        if record.run_id == self._run_id:
            is_new = self._record is None
            self._record = record
            self._show_title()
            if is_new:
                self.values.show_run(record)
            else:
                self.values.look()
            if self._failure is not None:
                self._on_failed(*self._failure)  # now with what the run has to offer instead

    def _on_episodes_loaded(self) -> None:
        """Nobody asked for a certain one: the first of the list is shown."""
        if self._wanted_episode is not None or self.source.recording is not None:
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

    def _on_read(self, recording: EpisodeRecording) -> None:
        self._failure = None
        self._show_headings()
        self.panel.show_message("Starting the simulator…", recording.env_id)
        self._set_exportable(False)

    def _ask_told(self, recording: EpisodeRecording) -> None:
        """What the agent expected, wanted and believed, where its worker recorded or told that."""
        if recording.values:
            self.panel.strips.show_values(dict(enumerate(recording.values)))
        run_id, episode = recording.run_id, recording.episode.episode_index
        self._asking.append(
            self._workbench.bridge.ask(
                lambda client: told_steps(client, run_id, episode, recording.attempt),
                self._on_told,
                lambda error: None,
            )
        )
        self.values.look()

    def _on_told(self, told: ToldSteps) -> None:
        recording, steps = self.source.recording, self.panel.steps
        if recording is None or steps is None:
            return
        if not recording.values:
            self.panel.strips.show_values(told.values)
        mind = told.mind
        self.panel.strips.show_confidence({} if mind is None else mind.confidence)
        self.step_table.show_mind(mind)
        self.mind.show_episode(mind, recording.episode, len(steps))
        self._show_mind()

    def _on_values_read(self, read: ValuesRead) -> None:
        self.mind.show_values(read)
        self._show_mind()

    def _show_mind(self) -> None:
        self.side.set_mind(self.mind.has_something)

    def _on_failed(self, title: str, error: MosaicError) -> None:
        self._failure = title, error
        self._set_exportable(False)
        self.panel.show_message(title, sentence_of(error), self._offers())

    # What the simulator says

    def _on_wanted(self, step: int, ahead: list[int]) -> None:
        self.source.want(step, ahead)
        if self.panel.has_beside:
            self.beside_source.want(step, ahead)

    def _on_steps_read(self, steps: EpisodeSteps) -> None:
        self.panel.show_steps(steps)
        self.step_table.show_steps(steps)
        self.step_table.show_step(0)
        if self.source.recording is not None:
            self._ask_told(self.source.recording)

    def _on_began(self) -> None:
        self._set_exportable(True)
        self.panel.begin()
        self._observe()

    def _observe(self) -> None:
        if self.panel.transport.strips.isChecked() and self.export_button.isEnabled():
            self.source.observe()

    # The other one of two episodes

    def _beside_choices(self, text: str) -> list[BesideChoice]:
        recording = self.source.recording
        shown = None if recording is None else recording.episode.episode_index
        runs = self._workbench.state.runs.newest_first()
        return beside_choices(text, self._run_id, shown, self.episodes.model.episodes, runs)

    def _on_beside_found(self, choice: BesideChoice, episode: EpisodeSummary | None) -> None:
        if episode is None:
            self.panel.show_beside_message("No finished episode yet", choice.note)
        else:
            self.beside_source.show_episode(choice.run_id, episode.episode_index, choice.note)

    def _on_beside_read(self, recording: EpisodeRecording) -> None:
        self._show_headings()

    def _stop_choosing(self) -> None:
        if self._choosing is not None:
            self._choosing.cancel()

    def _on_beside_closed(self) -> None:
        self._stop_choosing()
        self.beside_source.end()
        self.side.set_shown(True)
        self._show_beside_button()
        self._show_headings()

    def _show_beside_button(self) -> None:
        is_on = self.panel.has_beside
        self.beside_button.setText("One only" if is_on else "Beside…")
        tip = "Show one episode only (D)" if is_on else "Another episode beside this one (D)"
        self.beside_button.setToolTip(tip)

    def _show_headings(self) -> None:
        """Two episodes of different runs are told apart by the names of their runs."""
        is_same = not self.panel.has_beside or self._beside_run == self._run_id
        for source, screen, run_id in (
            (self.source, self.panel.main, self._run_id),
            (self.beside_source, self.panel.beside, self._beside_run),
        ):
            if source.recording is not None:
                words = heading(source.recording)
                screen.show_heading(beside_heading(self._name(run_id), is_same, words))

    def _on_strips_toggled(self, is_shown: bool) -> None:
        self._workbench.settings.setValue(_STRIPS_SETTING, "true" if is_shown else "false")
        self._observe()

    # Jobs

    def _start_job(self, name: str, work: Callable[[Simulation], object]) -> None:
        recording = self.source.recording
        if recording is not None:
            self._jobs[SimulationJob(recording, work, self._mail.done.emit)] = name

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
        head.addWidget(self.beside_button)
        head.addWidget(self.verify_button)
        head.addWidget(self.export_button)
        body = QHBoxLayout()
        body.setSpacing(12)
        body.addWidget(self.side.left)
        body.addWidget(self.panel, 1)
        body.addWidget(self.side.right)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 10, 12, 10)
        layout.setSpacing(8)
        layout.addLayout(head)
        layout.addLayout(body, 1)

    def _show_title(self) -> None:
        name = self._name(self._run_id)
        self._title.setText(f"Replay · {name}" if name else "Replay")
        self._title.setToolTip(name)

    def _name(self, run_id: str) -> str:
        known = self._record if run_id == self._run_id else None
        record = known or self._workbench.state.runs.get(run_id)
        return record.run_name if record else run_id

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
        self.beside_button.setEnabled(is_possible or self.panel.has_beside)
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
        recording = self.source.recording
        if recording is not None:
            name = f"{self._run_id}-episode-{recording.episode.episode_index}.{suffix}"
            ask_for_file(
                self, title, pattern, chosen, suggested=str(Path.home() / name), is_new=True
            )

    def _end_episode(self) -> None:
        for task in self._asking:
            task.cancel()
        self._asking.clear()
        self._failure = None
        self.panel.stop()
        self.source.end()
        self._set_exportable(False)

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        record = self._workbench.state.runs.get(self._run_id)
        if self._run_id in changed and record is not None and self.isVisible():
            self.episodes.show_finished(record.progress.episodes)

    def _on_runs_removed(self, gone: frozenset[str]) -> None:
        if self._run_id in gone and self.isVisible():
            self._end_episode()
            self.panel.close_beside()
            self.panel.show_steps(None)
            self.step_table.show_steps(None)
            self.panel.show_message(
                "The run was deleted", "Restore it, or choose another one to replay."
            )


def _open_outside(path: Path) -> None:
    QDesktopServices.openUrl(QUrl.fromLocalFile(str(path)))
