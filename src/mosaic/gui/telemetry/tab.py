"""TelemetryTab: the newest steps and episodes of a run, as they are reported."""

from __future__ import annotations

from PySide6.QtWidgets import QHBoxLayout, QStackedLayout, QToolButton, QVBoxLayout, QWidget

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.gui.services.async_bridge import BATCH_S, Task
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.state.targets import ReplayTarget
from mosaic.gui.tabs.row_table import RowTable
from mosaic.gui.tabs.run_tab import TabPage
from mosaic.gui.telemetry.model import (
    EPISODE_COLUMNS,
    STEP_COLUMNS,
    Reported,
    ReportedEpisode,
    TelemetryView,
    is_replayable,
    lane_banner,
    nothing_yet,
    paced,
    reported_episode,
    streams_steps,
)
from mosaic.gui.widgets.choosers import Segmented
from mosaic.gui.widgets.messages import EmptyState
from mosaic.gui.widgets.roles import label, with_role

STEPS, EPISODES = "steps", "episodes"
# So many samples may be on their way, and are taken in a tenth of a second.
_WINDOW = 1000
_STORED_EPISODES = 200


class TelemetryTab(TabPage):
    def __init__(self, workbench: Workbench) -> None:
        content = QWidget()
        super().__init__(workbench, "pulse", content)
        self._record: RunRecord | None = None
        self._view = TelemetryView()
        self._following: Task | None = None
        self._has_loaded = False
        self._is_held = False
        theme = workbench.theme
        self.which = Segmented(((STEPS, "Steps"), (EPISODES, "Episodes")))
        self.which.chosen.connect(self._refresh)
        self.status = label(role="caption")
        self.hold_button = with_role(QToolButton(), "flat")
        self.hold_button.setObjectName("telemetry-hold")
        self.hold_button.setCheckable(True)
        self.hold_button.toggled.connect(self._on_hold)
        self.steps_table = RowTable(theme, "Newest steps")
        self.episodes_table = RowTable(theme, "Newest episodes")
        self.episodes_table.activated_row.connect(self._on_replay)
        self._nothing = EmptyState(theme, "pulse", "")
        self._tables = QStackedLayout()
        self._bar = QWidget()
        bar = QHBoxLayout(self._bar)
        bar.setContentsMargins(0, 0, 0, 0)
        bar.setSpacing(8)
        bar.addWidget(self.which)
        bar.addStretch(1)
        bar.addWidget(self.hold_button)
        layout = QVBoxLayout(content)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(8)
        layout.addWidget(self._bar)
        layout.addWidget(self.status)
        layout.addLayout(self._tables, 1)
        # Filled when it has a place: before, Qt would open a window for its first page.
        for widget in (self.steps_table, self.episodes_table, self._nothing):
            self._tables.addWidget(widget)
        theme.changed.connect(self._draw)
        self._draw()
        self.say("Loading the telemetry…")

    def show_run(self, record: RunRecord) -> None:
        is_other = self._record is None or self._record.run_id != record.run_id
        was_over = self._record is not None and self._record.is_over
        self._record = record
        if is_other:
            self._start_over()
        elif record.is_over and not was_over and self.is_active:
            self._load_episodes()  # the last ones may have come while nobody listened
        elif self.is_active and self._following is None and not record.is_over:
            self._begin()
        if not self._can_show_steps():
            self.which.choose(EPISODES)
        self.which.setVisible(self._can_show_steps())
        self.banner.show_text(lane_banner(record), "Charts", self._show_charts)
        self.hold_button.setVisible(not record.is_over)
        for widget in (self._bar, self.status):
            widget.setVisible(self._can_show_steps() or not record.is_over)
        self._follow_on()

    def set_active(self, is_active: bool) -> None:
        self.is_active = is_active
        if is_active:
            self._begin()
        else:
            self._end()

    def _can_show_steps(self) -> bool:
        """Of a run that is over there are only episodes: the replay has their steps."""
        record = self._record
        if record is None or not streams_steps(record):
            return False
        return not record.is_over or self._view.has_steps

    def _start_over(self) -> None:
        self._end()
        self._view = TelemetryView()
        self._has_loaded = False
        self.hold_button.setChecked(False)
        self.which.choose(STEPS)
        self.say("Loading the telemetry…")
        if self.is_active:
            self._begin()

    def _begin(self) -> None:
        record = self._record
        if record is None:
            return
        if not record.is_over and self._following is None:
            types = ("step", "episode") if streams_steps(record) else ("episode",)
            run_id = record.run_id
            self._following = self.workbench.bridge.follow(
                lambda client: paced(
                    client.subscribe((run_id,), types=types, window=_WINDOW), _WINDOW, BATCH_S
                ),
                self._on_seen,
                failed=self._on_stream_failed,
            )
        self._load_episodes()

    def _end(self) -> None:
        self.cancel_tasks()
        if self._following is not None:
            self._following.cancel()
            self._following = None

    def _load_episodes(self) -> None:
        record = self._record
        if record is None:
            return
        run_id = record.run_id
        self.keep(
            self.workbench.bridge.ask(
                lambda client: _newest_episodes(client, run_id), self._on_loaded, self._on_failed
            )
        )

    def _on_loaded(self, episodes: list[ReportedEpisode]) -> None:
        self._has_loaded = True
        self._view.load_episodes(episodes)
        self._follow_on()

    def _on_seen(self, batches: list[list[Reported]]) -> None:
        for batch in batches:
            self._view.add(batch)
        self._follow_on()

    def _on_stream_failed(self, error: MosaicError) -> None:
        self._following = None  # begun again with the next news of the run
        self._on_failed(error)

    def _on_failed(self, error: MosaicError) -> None:
        if not self._view.has_episodes and not self._view.has_steps:
            self.say_error(error)

    def _follow_on(self) -> None:
        """Shows what is new, unless somebody wants to read in peace."""
        if not self._is_held or not self.is_content_shown:
            self._refresh()

    def _refresh(self, *_: object) -> None:
        record = self._record
        if record is None or not self._has_loaded:
            return
        is_steps = self.which.value == STEPS and self._can_show_steps()
        has_rows = self._view.has_steps if is_steps else self._view.has_episodes
        self.show_content()
        self.status.setText(self._view.status())
        if not has_rows:
            self._nothing.show_text(*nothing_yet(record, is_steps))
            self._tables.setCurrentWidget(self._nothing)
        elif is_steps:
            self.steps_table.show_rows(STEP_COLUMNS, self._view.step_rows())
            self._tables.setCurrentWidget(self.steps_table)
        else:
            rows = self._view.episode_rows(is_replayable(record))
            self.episodes_table.show_rows(EPISODE_COLUMNS, rows)
            self._tables.setCurrentWidget(self.episodes_table)

    def _on_hold(self, is_held: bool) -> None:
        self._is_held = is_held
        self._draw()
        if not is_held:
            self._refresh()

    def _on_replay(self, key: tuple[str, int, float]) -> None:
        record = self._record
        if record is not None and is_replayable(record):
            self.workbench.state.show_replay(ReplayTarget(record.run_id, key[1]))

    def _show_charts(self) -> None:
        self.workbench.state.ask_tab("charts")

    def _draw(self) -> None:
        is_held = self._is_held
        self.hold_button.setIcon(self.workbench.theme.icon("play" if is_held else "pause"))
        words = "Continue the view" if is_held else "Pause the view (the run goes on)"
        self.hold_button.setToolTip(words)
        self.hold_button.setAccessibleName(words)


async def _newest_episodes(client: AsyncTrainerClient, run_id: str) -> list[ReportedEpisode]:
    episodes = client.episodes(run_id, limit=_STORED_EPISODES, order="newest")
    return [reported_episode(episode) async for episode in episodes]
