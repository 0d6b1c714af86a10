"""What the welcome page says about the machine and about recent runs. No Qt."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mosaic.contracts.bundles import VenvInfo, VenvState
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.front.human import age, amount
from mosaic.front.machine_checks import check_answers
from mosaic.front.run_words import state_word
from mosaic.gui.state.targets import Page, ReplayTarget
from mosaic.gui.state.workbench_state import Connection, WorkbenchState

RECENT_RUNS = 5


class CheckVerdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    WAITING = "waiting"


@dataclass(frozen=True)
class CheckRow:
    verdict: CheckVerdict
    title: str
    text: str
    fix: str = ""


@dataclass(frozen=True)
class RecentRun:
    run_id: str
    name: str
    word: str
    detail: str


def check_rows(
    machine: Sequence[CheckResult], state: WorkbenchState, is_asking: bool = False
) -> list[CheckRow]:
    """What can be seen from here, and what the daemon sees, the worst first."""
    rows = [_row(result) for result in machine]
    if state.connection is not Connection.ONLINE or state.health is None:
        rows.append(_row_of_absence(state))
    elif is_asking or not state.workers:
        rows.append(CheckRow(CheckVerdict.WAITING, "workers", "asking the daemon for its workers"))
    else:
        rows += [_row(result) for result in check_answers(state.health, state.workers)]
    order = (CheckVerdict.FAILURE, CheckVerdict.WARNING, CheckVerdict.WAITING, CheckVerdict.OK)
    return sorted(rows, key=lambda row: order.index(row.verdict))


def summary(rows: Iterable[CheckRow]) -> CheckRow:
    """All rows in one."""
    verdicts = [row.verdict for row in rows]
    failures, warnings = verdicts.count(CheckVerdict.FAILURE), verdicts.count(CheckVerdict.WARNING)
    if failures:
        return CheckRow(CheckVerdict.FAILURE, "", f"{amount(failures, 'problem')} to fix")
    if CheckVerdict.WAITING in verdicts or not verdicts:
        return CheckRow(CheckVerdict.WAITING, "", "Checking …")
    if warnings:
        text = f"This machine is ready for runs; {amount(warnings, 'remark')}"
        return CheckRow(CheckVerdict.WARNING, "", text)
    return CheckRow(CheckVerdict.OK, "", "This machine is ready for runs")


def recent_runs(records: Iterable[RunRecord], now: float | None = None) -> list[RecentRun]:
    """`records` with the newest first."""
    found = []
    for record in list(records)[:RECENT_RUNS]:
        parts = [record.env_id, age(record.created_at, now)]
        detail = " · ".join(part for part in parts if part)
        found.append(RecentRun(record.run_id, record.run_name, state_word(record), detail))
    return found


def bundles_summary(infos: Sequence[VenvInfo]) -> str:
    """`3 of 12 bundles are there; 1 being installed`"""
    if not infos:
        return ""
    there = sum(info.is_usable for info in infos)
    verb = "is" if there == 1 else "are"
    text = f"{there} of {amount(len(infos), 'bundle')} {verb} there"
    busy = sum(info.state is VenvState.INSTALLING for info in infos)
    broken = sum(info.state is VenvState.BROKEN for info in infos)
    rest = "others are offered when a run needs them" if there < len(infos) else ""
    parts = (
        text,
        f"{busy} being installed" if busy else "",
        f"{broken} broken" if broken else "",
        rest if not busy and not broken else "",
    )
    return "; ".join(part for part in parts if part)


def has_banner(record: RunRecord, page: Page) -> bool:
    """Where it is told that a run is solved; once it is over, its own page says so."""
    return page is Page.REPLAY or (page is Page.LIVE and not record.is_over)


def _row(result: CheckResult) -> CheckRow:
    if result.ok:
        return CheckRow(CheckVerdict.OK, result.check, result.message)
    verdict = CheckVerdict.FAILURE if result.required else CheckVerdict.WARNING
    return CheckRow(verdict, result.check, result.message, result.fix)


def _row_of_absence(state: WorkbenchState) -> CheckRow:
    if state.connection is Connection.LOST:
        fix = "mosaic daemon start"
        return CheckRow(CheckVerdict.FAILURE, "daemon", state.connection_problem or "lost", fix)
    return CheckRow(CheckVerdict.WAITING, "daemon", state.connection_problem or "looking for it")


class WatchedExample:
    """Only while nobody has turned to something else in the meantime."""

    def __init__(self, state: WorkbenchState) -> None:
        self._state = state
        self._run_id = ""
        state.runs.changed.connect(self._on_runs_changed)

    def follow(self, run_id: str) -> None:
        self._run_id = run_id
        self._look()

    def _on_runs_changed(self, changed: frozenset[str]) -> None:
        if self._run_id in changed:
            self._look()

    def _look(self) -> None:
        record = self._state.runs.get(self._run_id)
        if record is None or not record.is_over:
            return
        run_id, self._run_id = self._run_id, ""
        is_watched = self._state.leading_id == run_id and self._state.page is Page.LIVE
        if is_watched and record.outcome is Outcome.SUCCEEDED:
            self._state.show_replay(ReplayTarget(run_id, 0))
