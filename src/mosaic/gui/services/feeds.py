"""Feeds: keeps the state in step with the daemon, even when it dies and comes back."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from PySide6.QtCore import QObject, QTimer

from mosaic.contracts.catalogue import AlgorithmInfo, EnvironmentInfo
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.front.catalogue import algorithms, environments
from mosaic.gui.services.async_bridge import AsyncBridge, Task
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection, WorkbenchState
from mosaic.paths import Home
from mosaic.wire.answers import Health

_HEALTH_MS = 1000
# Longer than any answer of a living daemon takes, shorter than a person would wait.
_SILENCE_S = 2.0
# A daemon that is being started, or started again, does not answer at first: that is no news yet.
_PATIENCE_FIRST_S, _PATIENCE_S = 15.0, 3.0
# Runs that somebody else deleted, in another window perhaps, are noticed only by listing all: soon
# where they are few, and at the same cost where they are many.
_RELOAD_S, _MOST_RELOAD_S, _LISTED_PER_S = 5.0, 60.0, 100.0
_DETAILS_MS = 1000


Catalogue = tuple[list[AlgorithmInfo], list[EnvironmentInfo]]


class Feeds(QObject):
    def __init__(self, home: Home | None, state: WorkbenchState, bridge: AsyncBridge) -> None:
        """`home` is None for a daemon that is reached over the network."""
        super().__init__()
        self._home, self._state, self._bridge = home, state, bridge
        self._watching: Task | None = None
        self._asking: Task | None = None
        self._details: Task | None = None
        self._asked_at = self._listed_at = 0.0
        self._has_connected = False
        self._missed_since: float | None = None  # when the daemon answered last, or was asked first
        self._health_timer = self._timer(_HEALTH_MS, self._on_health_due)
        # A run that reports ten times a second has its details read once.
        self._details_timer = self._timer(_DETAILS_MS, self._on_details_due)
        self._details_timer.setSingleShot(True)
        state.selection_changed.connect(self._on_selection_changed)
        state.runs.changed.connect(self._on_runs_changed)

    def start(self) -> None:
        self._bridge.work(_read_catalogue, self._on_catalogue)
        self._health_timer.start()
        self.reconnect()

    def stop(self) -> None:
        for timer in (self._health_timer, self._details_timer):
            timer.stop()
        for task in (self._watching, self._asking, self._details):
            if task is not None:
                task.cancel()

    def reconnect(self) -> None:
        """Also starts a daemon that was stopped on purpose: somebody wants it."""
        self._has_connected = False
        self._missed_since = None
        self._state.set_connection(Connection.CONNECTING)
        self._on_health_due()

    def reload(self) -> None:
        """The whole list of runs, now."""
        self._listed_at = time.monotonic()
        self._bridge.ask(
            lambda client: client.list_runs(),
            partial(self._on_list, self._state.runs.run_ids),
            self._on_failed,
        )

    def refresh_workers(self) -> None:
        self._bridge.ask(
            lambda client: client.workers(refresh=True), self._state.set_workers, self._on_failed
        )

    def _timer(self, milliseconds: int, due: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setInterval(milliseconds)
        timer.timeout.connect(due)
        return timer

    def _on_catalogue(self, found: Catalogue) -> None:
        self._state.set_catalogue(*found)

    def _on_list(self, known: frozenset[str], records: list[RunRecord]) -> None:
        runs = self._state.runs
        is_first = not runs.is_loaded
        runs.load(records, known)
        if is_first:
            self._state.runs_listed.emit()
        # Whoever has runs wants to see the newest, unless something else is shown by now.
        if is_first and len(runs) and not self._state.selection:
            if self._state.page is Page.WELCOME:
                self._state.show_page(Page.LIVE)
            self._state.select([runs.newest_first()[0].run_id])

    def _on_health_due(self) -> None:
        if self._asking is not None and not self._asking.is_done:
            silent_s = time.monotonic() - self._asked_at
            if silent_s > _SILENCE_S:
                self._lose(f"silent for {silent_s:.0f} s")
            return
        if self._was_stopped():
            self._state.set_connection(Connection.LOST, "it was stopped", is_stopped=True)
            return
        self._asked_at = time.monotonic()
        # Only who opens the window, or clicks, wants a daemon where there is none.
        is_wanted = not self._has_connected
        self._asking = self._bridge.ask(
            lambda client: client.wake() if is_wanted else client.health(),
            self._on_health,
            self._on_failed,
        )

    def _was_stopped(self) -> bool:
        """On purpose, that is: then we must not restart it unasked."""
        return (
            self._has_connected and self._home is not None and not self._home.daemon_info.exists()
        )

    def _on_health(self, health: Health) -> None:
        was_online = self._state.connection is Connection.ONLINE
        is_new = not self._has_connected
        self._has_connected = True
        self._missed_since = None
        self._state.set_health(health)
        self._state.set_connection(Connection.ONLINE)
        wait_s = min(max(_RELOAD_S, len(self._state.runs) / _LISTED_PER_S), _MOST_RELOAD_S)
        is_old = time.monotonic() - self._listed_at > wait_s
        if is_new or not was_online or is_old:
            self.reload()
        if is_new:
            self._bridge.ask(
                lambda client: client.workers(), self._state.set_workers, self._on_failed
            )
        if self._watching is None or self._watching.is_done:
            self._watching = self._bridge.follow(
                lambda client: client.watch(),
                self._state.runs.update,
                failed=lambda error: None,  # begun again with the next sign of life
            )

    def _lose(self, problem: str) -> None:
        """Calm at first: only a connection that has failed for a while is lost."""
        now = time.monotonic()
        if self._missed_since is None:
            self._missed_since = now
        patience_s = _PATIENCE_S if self._has_connected else _PATIENCE_FIRST_S
        is_lost = now - self._missed_since > patience_s
        self._state.set_connection(Connection.LOST if is_lost else Connection.CONNECTING, problem)

    def _on_failed(self, error: MosaicError) -> None:
        self._lose(error.message)

    # The leading run's whole record

    def _on_selection_changed(self, selection: tuple[str, ...]) -> None:
        self._read_details()

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if self._state.leading_id in changed and not self._details_timer.isActive():
            self._details_timer.start()

    def _on_details_due(self) -> None:
        """However slow the answers are, each is waited for."""
        if self._details is not None and not self._details.is_done:
            self._details_timer.start()
        else:
            self._read_details()

    def _read_details(self) -> None:
        if self._details is not None:
            self._details.cancel()
            self._details = None
        run_id = self._state.leading_id
        if run_id:
            self._details = self._bridge.ask(
                lambda client: client.get_run(run_id), self._on_details, lambda error: None
            )

    def _on_details(self, record: RunRecord) -> None:
        self._state.set_details(record)


def _read_catalogue() -> Catalogue:
    return algorithms(), environments()
