"""FastLaneTab: how the live frames of the leading run get here, environment by environment."""

from __future__ import annotations

import time

from PySide6.QtCore import QSize, Qt, QTimer
from PySide6.QtGui import QHideEvent, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.live.frame_reader import FrameReader
from mosaic.gui.live.model.hud import LOOKS
from mosaic.gui.live.model.table import (
    COLUMNS,
    connection_word,
    facts_of,
    rows_of,
    watching_text,
    why_no_frames,
)
from mosaic.gui.live.tile_canvas import TileCanvas
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.live_watch import LiveFrames, LiveViewer
from mosaic.gui.tabs.model import Row
from mosaic.gui.tabs.row_table import FactList, RowTable
from mosaic.gui.tabs.run_tab import TabPage
from mosaic.gui.theme.tokens import state_look
from mosaic.gui.widgets.roles import label

_LOOK_MS = 250
_SLOTS, _FPS = 16, 15.0
_PREVIEW_HEIGHT = 128
_ICON = QSize(16, 16)
_COLUMN_SHARES = (30, 52, 54, 53, 53, 60)  # by their largest numbers


class FastLaneTab(TabPage):
    """Watches by itself only while the centre does not: one viewer is enough."""

    def __init__(self, workbench: Workbench) -> None:
        content = QWidget()
        super().__init__(workbench, "lan-connect", content)
        self._record: RunRecord | None = None
        self._reader: FrameReader | None = None
        self._is_wanted = True  # the person has not stopped it
        self._drawn = ""
        self.setObjectName("fastlane-tab")
        self._icon, self.word = QLabel(), label("", "section")
        self.button = QPushButton("Stop viewing")
        self.button.setObjectName("fastlane-watch")
        self.where = label("", "caption")
        self.where.setWordWrap(True)
        self.facts = FactList(92)
        self.preview = TileCanvas()
        self.preview.setFixedHeight(_PREVIEW_HEIGHT)
        self.table = RowTable(workbench.theme, "Environments")
        self.table.setObjectName("fastlane-table")
        self.table.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        heading = QHBoxLayout()
        heading.setSpacing(8)
        heading.addWidget(self._icon)
        heading.addWidget(self.word, 1)
        heading.addWidget(self.button)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(12)
        layout.addLayout(heading)
        layout.addWidget(self.where)
        layout.addWidget(self.preview)
        layout.addWidget(self.facts)
        layout.addWidget(self.table, 1)
        self.button.clicked.connect(self._on_clicked)
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self._look)
        workbench.theme.changed.connect(self._on_theme_changed)

    def show_run(self, record: RunRecord) -> None:
        if self._record is None or record.run_id != self._record.run_id:
            self._stop()
            self.preview.show_tiles(())
            self._is_wanted = True
        self._record = record
        self._look()

    def set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        if is_active:
            self._timer.start()
        else:
            self._timer.stop()
        self._look()

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._look()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._stop()

    def _on_clicked(self) -> None:
        self._is_wanted = not self._is_wanted
        self._look()

    def _look(self) -> None:
        """A few times a second: numbers that change with every frame could not be read."""
        record, live = self._record, self.workbench.state.live
        if record is None:
            return
        absence = why_no_frames(record)
        is_centre = live.is_watching(LiveViewer.CENTRE, record.run_id)
        is_seen = self.is_active and self.isVisible() and not self.window().isMinimized()
        if is_seen and self._is_wanted and not absence and not is_centre:
            self._start(record.run_id)
        else:
            self._stop()
        if absence:
            self.say(*absence)
            return
        self.show_content()
        word = connection_word(record, live)
        self.word.setText(word)
        self._draw(word)
        self.where.setText(watching_text(record, live))
        self.button.setText("Stop viewing" if self._is_wanted else "Start viewing")
        self.button.setEnabled(not is_centre)
        self.preview.setVisible(self._reader is not None)
        self.facts.show_facts(facts_of(record, live, time.monotonic()))
        frames = live.frames if live.run_id == record.run_id else LiveFrames()
        self._show_rows(rows_of(frames))

    def _show_rows(self, rows: list[Row]) -> None:
        """Columns share the room there is, so that they never jump and nothing is out of sight."""
        self.table.show_rows(COLUMNS, rows)
        room = self.table.viewport().width() / sum(_COLUMN_SHARES)
        for column, share in enumerate(_COLUMN_SHARES):
            self.table.setColumnWidth(column, int(share * room))

    def _start(self, run_id: str) -> None:
        if self._reader is None:
            self.workbench.state.live.begin(LiveViewer.TAB, run_id)
            self._reader = FrameReader(run_id, 0, _SLOTS, _FPS, self)
            self._reader.arrived.connect(self._on_frames_arrived)
            self._reader.start()

    def _stop(self) -> None:
        if self._reader is not None:
            self._reader.stop()
            self._reader.deleteLater()
            self._reader = None
            self.workbench.state.live.end(LiveViewer.TAB)

    def _on_frames_arrived(self, frames: LiveFrames) -> None:
        if self.sender() is not self._reader:
            return
        live = self.workbench.state.live
        if live.watcher is LiveViewer.TAB:
            live.take(frames, time.monotonic())
        self.preview.show_tiles(frames.tiles)

    def _on_theme_changed(self) -> None:
        word, self._drawn = self._drawn, ""
        self._draw(word)

    def _draw(self, word: str) -> None:
        if word and word != self._drawn:
            self._drawn = word
            look = LOOKS.get(word, "queued")
            theme = self.workbench.theme
            icon = theme.icon(state_look(look).icon, theme.state_colour(look))
            self._icon.setPixmap(icon.pixmap(_ICON))
