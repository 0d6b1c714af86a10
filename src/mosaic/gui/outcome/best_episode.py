"""BestEpisode: the best recorded episode of a run, playing by itself."""

from __future__ import annotations

import time

from PySide6.QtCore import Signal
from PySide6.QtGui import QHideEvent, QImage, QShowEvent
from PySide6.QtWidgets import QVBoxLayout, QWidget

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import MosaicError
from mosaic.front.human import count, decimal
from mosaic.gui.replay.episode_source import EpisodeSource
from mosaic.gui.replay.player_panel import PlayerPanel
from mosaic.gui.services.async_bridge import Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.notices import sentence_of

# Where the best one is not recorded, one of the next ones may be.
_MOST_TRIED = 8
# Again and again, but not all night: each picture is simulated and painted.
_PLAYED_S = 90.0
# A simulator that is killed is gone in a moment; a window that closes waits no longer for it.
_END_WAIT_S = 1.0


class BestEpisode(QWidget):
    nothing = Signal(str)  # why there is nothing to be played; empty: nobody recorded anything

    def __init__(self, workbench: Workbench) -> None:
        super().__init__()
        self.setObjectName("best-episode")
        self._workbench = workbench
        self._asking: Task | None = None
        self._began_at = 0.0
        self._was_playing = False
        self.source = EpisodeSource(workbench)
        self.panel = PlayerPanel(workbench.theme)
        self.panel.make_compact()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(self.panel)
        self.panel.wanted.connect(self.source.want)
        self.panel.ended.connect(self._on_ended)
        self.source.steps_read.connect(self.panel.show_steps)
        self.source.began.connect(self._on_began)
        self.source.drawn.connect(self.panel.show_picture)
        self.source.failed.connect(self._on_failed)

    def clear(self, meanwhile: QImage | None = None) -> None:
        """Another run comes; `meanwhile`: what is shown until its episode plays."""
        if self._asking is not None:
            self._asking.cancel()
        self.panel.stop()
        self._was_playing = False
        self.source.end()
        self.panel.show_steps(None)
        self.panel.transport.note.setText("")
        self.panel.show_message("", "Reading its best episode…")
        if meanwhile is not None:
            self.panel.main.show_still(meanwhile)

    def show_run(self, run_id: str) -> None:
        self._asking = self._workbench.bridge.ask(
            lambda client: best_recording(client, run_id),
            self._on_found,
            lambda error: self.nothing.emit(sentence_of(error)),
        )

    def leave(self) -> None:
        self.clear()
        self.source.join(_END_WAIT_S)

    def hideEvent(self, event: QHideEvent) -> None:
        """Nobody sees it: it waits."""
        super().hideEvent(event)
        self._wait()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._was_playing and not self.panel.player.is_playing:
            self.panel.toggle()
        self._was_playing = False

    def _on_found(self, recording: EpisodeRecording | None) -> None:
        if recording is None:
            self.nothing.emit("")
            return
        episode = recording.episode
        number, reward = count(episode.episode_index), decimal(episode.total_reward)
        note = self.panel.transport.note
        note.setText(f"episode {number} · {reward}")
        note.setToolTip(f"Its best recorded episode: {number}, with a return of {reward}")
        self.source.show_recording(recording)

    def _on_began(self) -> None:
        self._began_at = time.monotonic()
        self.panel.begin()
        if not self.isVisible():
            self._wait()

    def _wait(self) -> None:
        self._was_playing = self.panel.player.is_playing
        self.panel.stop()

    def _on_ended(self) -> None:
        if time.monotonic() - self._began_at < _PLAYED_S:
            self.panel.toggle()  # from the beginning

    def _on_failed(self, title: str, error: MosaicError) -> None:
        self.panel.stop()
        self.nothing.emit(f"{title}: {sentence_of(error)}")


async def best_recording(client: AsyncTrainerClient, run_id: str) -> EpisodeRecording | None:
    """That can be simulated without asking anybody; None where there is none."""
    rows = client.episodes(run_id, _MOST_TRIED, "best")
    try:
        async for episode in rows:
            recording = await client.get_recording(run_id, episode.episode_index)
            if not recording.problem and recording.consent is None and recording.rewards:
                return recording
    finally:
        await rows.aclose()
    return None
