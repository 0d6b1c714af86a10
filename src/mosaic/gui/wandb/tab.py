"""WandbTab: what the run logged for W&B, its link, and the upload of an offline run."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedLayout, QVBoxLayout, QWidget

from mosaic.contracts.run_record import RunRecord
from mosaic.gui.charts.media_panel import MediaPanel
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.tabs.desktop import open_address, open_file
from mosaic.gui.tabs.row_table import FactList, RowTable
from mosaic.gui.tabs.run_tab import FileFollower, TabPage
from mosaic.gui.wandb.model import (
    HISTORY_COLUMNS,
    VALUE_COLUMNS,
    WandbFacts,
    WandbLogReader,
    advice,
    facts_of_manifest,
)
from mosaic.gui.wandb.sync_box import WandbSyncBox
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.roles import label, with_role

_LOOK_MS = 3000
SUMMARY, HISTORY, CONFIG = "summary", "history", "config"


class WandbTab(TabPage):
    def __init__(self, workbench: Workbench) -> None:
        content = QWidget()
        super().__init__(workbench, "cloud-outline", content)
        self._record: RunRecord | None = None
        self._follower = FileFollower(self, _LOOK_MS, self._on_read)
        self._facts: WandbFacts | None = None
        self.facts = FactList(64)
        self.advice = label(role="muted")
        self.advice.setWordWrap(True)
        self.open_button = with_role(QPushButton("Open in the browser"), "primary")
        self.open_button.clicked.connect(self._on_open)
        self.sync_button = QPushButton("Sync offline run")
        self.sync_button.setObjectName("wandb-sync")
        self.sync_button.clicked.connect(self._on_sync)
        self.folder_button = QPushButton("Show folder")
        self.folder_button.clicked.connect(self._on_folder)
        self.sync_box = WandbSyncBox(workbench)
        self.sync_box.changed.connect(self._on_sync_changed)
        self.problems = label(role="warning")
        self.problems.setWordWrap(True)
        self.which = Segmented(((SUMMARY, "Summary"), (HISTORY, "History"), (CONFIG, "Config")))
        self.which.chosen.connect(self._on_which)
        theme = workbench.theme
        self.tables = {
            SUMMARY: RowTable(theme, "W&B summary"),
            HISTORY: RowTable(theme, "W&B history"),
            CONFIG: RowTable(theme, "W&B config"),
        }
        self.media = MediaPanel(workbench)
        self._stack = QStackedLayout()
        self._lay_out(content)
        self.say("Reading the W&B log…")

    def show_run(self, record: RunRecord) -> None:
        self._record = record
        if self._follower.follow(record, lambda record: WandbLogReader(record).read):
            self._facts = None
            self.sync_box.clear()
            self.say("Reading the W&B log…")
            if self.is_active:
                self._follower.read_now()

    def set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        if is_active:
            self._follower.begin()
        else:
            self._follower.end()

    def close_tab(self) -> None:
        self.sync_box.close_box()

    def _lay_out(self, content: QWidget) -> None:
        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        for button in (self.open_button, self.sync_button, self.folder_button):
            buttons.addWidget(button)
        buttons.addStretch(1)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self.facts)
        layout.addWidget(self.advice)
        layout.addLayout(buttons)
        layout.addWidget(self.sync_box)
        layout.addWidget(self.problems)
        layout.addWidget(self.media, 2)
        layout.addWidget(self.which)
        layout.addLayout(self._stack, 1)
        # Filled when it has a place: before, Qt would open a window for its first page.
        for table in self.tables.values():
            self._stack.addWidget(table)

    def _on_read(self, facts: WandbFacts | None) -> None:
        self._facts = facts
        if facts is None:
            known = ", ".join(f"{name.lower()} {value}" for name, value, _ in self._promised())
            self.say("No W&B log yet", f"It appears when W&B has begun ({known}).")
            return
        self.show_content()
        self.facts.show_facts(facts.facts)
        self.advice.setText(advice(facts))
        self.problems.setText("\n".join(facts.problems))
        self.problems.setVisible(bool(facts.problems))
        self.open_button.setVisible(bool(facts.url))
        self.tables[SUMMARY].show_rows(VALUE_COLUMNS, facts.summary)
        self.tables[HISTORY].show_rows(HISTORY_COLUMNS, facts.history)
        self.tables[CONFIG].show_rows(VALUE_COLUMNS, facts.config)
        self.media.show_media(facts.media)
        self._on_sync_changed()

    def _promised(self) -> tuple[tuple[str, str, str], ...]:
        return facts_of_manifest(self._record) if self._record is not None else ()

    def _on_which(self, value: str) -> None:
        self._stack.setCurrentWidget(self.tables[value])

    def _on_open(self) -> None:
        if self._facts is not None and self._facts.url:
            open_address(self.workbench, self._facts.url)

    def _on_folder(self) -> None:
        folder = self.facts.value("Folder")
        if folder:
            open_file(self.workbench, Path(folder))

    def _on_sync(self) -> None:
        if self._facts is not None:
            self.sync_box.sync(self._facts.offline_folders)

    def _on_sync_changed(self) -> None:
        facts, is_live = self._facts, self._record is not None and not self._record.is_over
        self.sync_button.setVisible(facts is not None and bool(facts.offline_folders))
        self.sync_button.setEnabled(not self.sync_box.is_busy and not is_live)
        self.sync_button.setToolTip(
            "Possible when the run is over" if is_live else "Uploads it with `wandb sync`"
        )
