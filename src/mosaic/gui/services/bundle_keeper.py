"""BundleKeeper: what is done with bundles, and what is known of them, whichever page is shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject, QTimer

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.bundles import (
    Accelerator,
    InstallPhase,
    InstallProgress,
    InstallRequest,
    VenvInfo,
)
from mosaic.errors import BundleError, MosaicError
from mosaic.front.human import amount, size
from mosaic.gui.services.async_bridge import AsyncBridge, Task
from mosaic.gui.state.awaited_bundles import awaited_bundle
from mosaic.gui.state.bundles_state import BundlesState
from mosaic.gui.state.notices import Notice, Severity, notice_of, sentence_of
from mosaic.gui.state.targets import Page
from mosaic.gui.state.workbench_state import Connection, WorkbenchState

# Somebody else may install something, in a terminal for example: the roster says whether a worker
# is ready, pages and forms say more, and an install that is under way moves.
_ROSTER_MS, _SLOW_MS, _FAST_MS = 30_000, 5000, 1000


class BundleKeeper(QObject):
    def __init__(self, state: WorkbenchState, bridge: AsyncBridge) -> None:
        super().__init__()
        self._state, self._bridge = state, bridge
        self._asking: Task | None = None
        self._comparing: Task | None = None
        self._compared = ""
        self._installs: dict[str, Task] = {}
        self._requests: dict[str, InstallRequest] = {}
        self._watchers: set[object] = set()
        self._waiting: dict[str, str] = {}  # runs in the queue, and the bundles they wait for
        self._timer = QTimer(self)
        self._timer.timeout.connect(self._on_due)
        state.connection_changed.connect(self._on_connection_changed)
        state.bundles.changed.connect(self._pace)
        state.runs.changed.connect(self._on_runs_changed)

    @property
    def bundles(self) -> BundlesState:
        return self._state.bundles

    def stop(self) -> None:
        """Installs go on in the daemon; nobody here follows them any more."""
        self._timer.stop()
        for task in (self._asking, self._comparing, *self._installs.values()):
            if task is not None:
                task.cancel()
        self._installs.clear()

    def watch(self, watcher: object, is_watching: bool) -> None:
        """While somebody looks at it, the list is kept as new as it can be."""
        if is_watching == (watcher in self._watchers):
            return
        if is_watching:
            self._watchers.add(watcher)
            self.refresh()
        else:
            self._watchers.discard(watcher)
        self._pace()

    def refresh(self) -> None:
        """The list as it is now: an answer to an older question could be older than that."""
        if self._asking is not None:
            self._asking.cancel()
        self._asking = self._bridge.ask(
            lambda client: client.bundles(),
            self.bundles.set_listed,
            lambda error: self.bundles.set_problem(sentence_of(error)),
        )

    def ask_problems(self) -> None:
        """What is wrong with packages that bring bundles."""
        self._bridge.ask(
            lambda client: client.bundle_problems(), self.bundles.set_problems, lambda _: None
        )

    def ask_variants(self, name: str) -> None:
        """What it would take for each accelerator; asked once for each list."""
        is_asked = self._compared == name and self._comparing and not self._comparing.is_done
        if self.bundles.has_variants(name) or is_asked:
            return

        async def ask(client: AsyncTrainerClient) -> list[VenvInfo]:
            found = await client.bundles([name])
            for accelerator in Accelerator:
                builds = await client.bundles([name], accelerator)
                found += [replace(item, accelerator=accelerator) for item in builds]
            return found

        if self._comparing is not None:
            self._comparing.cancel()
        self._compared = name
        self._comparing = self._bridge.ask(
            ask, lambda found: self.bundles.set_variants(name, found), lambda _: None
        )

    # What a person does

    def install(self, request: InstallRequest) -> None:
        """Asked for twice, it is done once."""
        name = request.name
        if name in self._installs:
            return
        self._requests[name] = request
        self.bundles.show_progress(name, InstallProgress(InstallPhase.WAITING))
        last: list[InstallProgress] = []

        def arrived(batch: list[InstallProgress]) -> None:
            last[:] = batch[-1:]
            if not last[0].is_over:
                self.bundles.show_progress(name, last[0])

        def ended() -> None:
            over = last[0] if last and last[0].is_over else _unknown_end(name)
            self._end(name, over)

        self._installs[name] = self._bridge.follow(
            lambda client: client.install_bundle(request),
            arrived,
            ended,
            lambda error: self._end(name, _failed(error)),
        )

    def last_request(self, name: str) -> InstallRequest | None:
        """What was agreed to here, for another attempt."""
        return self._requests.get(name)

    def cancel(self, name: str) -> None:
        """An install that is canceled says so at its own end."""
        self._bridge.ask(
            lambda client: client.cancel_install(name), lambda _: self.refresh(), self._say_error
        )

    def remove(self, name: str) -> None:
        self._bridge.ask(
            lambda client: client.remove_bundle(name), self._on_removed, self._say_error
        )

    def look_to_prune(self, done: Callable[[list[VenvInfo]], None]) -> None:
        """`done` with what pruning would remove, where there is something."""

        def tell(infos: list[VenvInfo]) -> None:
            if infos:
                done(infos)
            else:
                self._on_removed(infos)

        self._bridge.ask(lambda client: client.prune_bundles(dry_run=True), tell, self._say_error)

    def prune(self) -> None:
        self._bridge.ask(lambda client: client.prune_bundles(), self._on_removed, self._say_error)

    def verify(self, name: str, done: Callable[[], None]) -> None:
        """Reads every file of it, which takes a while; `done` in any case."""

        def tell(info: VenvInfo) -> None:
            self.bundles.put(info)
            if not info.problem:
                text = f"{info.title or name}: every file is as it was installed"
                self._state.say(Notice(text, Severity.GOOD))
            done()

        def failed(error: MosaicError) -> None:
            self._say_error(error)
            done()

        self._bridge.ask(lambda client: client.verify_bundle(name), tell, failed)

    # What comes of it

    def _end(self, name: str, last: InstallProgress) -> None:
        self._installs.pop(name, None)
        info = self.bundles.info(name)
        title = info.title if info is not None and info.title else name
        self.bundles.end_install(name, last)
        self.refresh()
        if last.phase is InstallPhase.DONE:
            self._state.say(Notice(f"{title} is installed", Severity.GOOD))
            self._ask_workers()
        elif last.phase is InstallPhase.CANCELED:
            self._state.say(Notice(f"The install of {title} was canceled; nothing of it is left"))
        elif self._state.page is not Page.BUNDLES:  # there it stands beside the bundle
            self._say_failure(name, title, last)

    def _say_failure(self, name: str, title: str, last: InstallProgress) -> None:
        text = f"{title} was not installed: {last.message[:1].lower()}{last.message[1:]}"
        self._state.say(
            Notice(
                text,
                Severity.BAD,
                action=lambda: self._state.show_bundles(name),
                action_text="Show",
                seconds=0,
            )
        )

    def _ask_workers(self) -> None:
        """Some of them may be ready now."""
        self._bridge.ask(
            lambda client: client.workers(refresh=True), self._state.set_workers, lambda _: None
        )

    def _on_removed(self, removed: list[VenvInfo]) -> None:
        freed = size(sum(max(0, info.disk_bytes - info.shared_bytes) for info in removed))
        if not removed:
            text = "There is nothing to remove: every venv belongs to this installation"
            self._state.say(Notice(text))
        else:
            only = removed[0].title or removed[0].name
            what = only if len(removed) == 1 else amount(len(removed), "venv")
            self._state.say(Notice(f"{what} removed, {freed} freed", Severity.GOOD))
            self._ask_workers()
        self.refresh()

    def _say_error(self, error: MosaicError) -> None:
        self._state.say(notice_of(error))
        self.refresh()

    # How often it is asked

    def _on_connection_changed(self, connection: str) -> None:
        if connection == Connection.ONLINE.value:
            self.refresh()
        self._pace()

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        """What runs have installed is news, too: when it begins, and when it is over."""
        is_news = False
        for run_id in changed:
            record = self._state.runs.get(run_id)
            name = awaited_bundle(record) if record is not None and record.waiting else ""
            if name != self._waiting.get(run_id, ""):
                is_news = True
                self._waiting[run_id] = name
                if not name:
                    del self._waiting[run_id]
        if is_news and self._state.connection is Connection.ONLINE:
            self.refresh()

    def _on_due(self) -> None:
        """However slow the answers are, each is waited for."""
        if self._asking is None or self._asking.is_done:
            self.refresh()

    def _pace(self) -> None:
        is_online = self._state.connection is Connection.ONLINE
        others = set(self.bundles.installing) - set(self._installs)
        if not is_online:
            self._timer.stop()
            return
        interval = _FAST_MS if others else _SLOW_MS if self._watchers else _ROSTER_MS
        if not self._timer.isActive() or self._timer.interval() != interval:
            self._timer.start(interval)


def _failed(error: MosaicError) -> InstallProgress:
    return InstallProgress(InstallPhase.FAILED, message=error.message, hint=error.hint)


def _unknown_end(name: str) -> InstallProgress:
    return _failed(
        BundleError(
            f"The daemon did not say how the install of {name} ended",
            hint="look at its state again in a moment, or try again",
            bundle=name,
        )
    )
