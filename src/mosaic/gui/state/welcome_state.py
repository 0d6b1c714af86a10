"""What the welcome page says about the machine and about recent runs. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from mosaic.contracts.run_record import RunRecord
from mosaic.front.human import age, amount
from mosaic.front.machine_checks import check_answers
from mosaic.front.run_words import state_word
from mosaic.gui.state.workbench_state import Connection, WorkbenchState
from mosaic.wire.answers import CheckResult

RECENT_RUNS = 5


class Verdict(StrEnum):
    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"
    WAITING = "waiting"


@dataclass(frozen=True)
class CheckRow:
    verdict: Verdict
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
        rows.append(CheckRow(Verdict.WAITING, "workers", "asking the daemon for its workers"))
    else:
        rows += [_row(result) for result in check_answers(state.health, state.workers)]
    order = (Verdict.FAILURE, Verdict.WARNING, Verdict.WAITING, Verdict.OK)
    return sorted(rows, key=lambda row: order.index(row.verdict))


def summary(rows: Iterable[CheckRow]) -> CheckRow:
    """All rows in one."""
    verdicts = [row.verdict for row in rows]
    failures, warnings = verdicts.count(Verdict.FAILURE), verdicts.count(Verdict.WARNING)
    if failures:
        return CheckRow(Verdict.FAILURE, "", f"{amount(failures, 'problem')} to fix")
    if Verdict.WAITING in verdicts or not verdicts:
        return CheckRow(Verdict.WAITING, "", "Checking …")
    if warnings:
        text = f"Everything a run needs is there; {amount(warnings, 'remark')}"
        return CheckRow(Verdict.WARNING, "", text)
    return CheckRow(Verdict.OK, "", "Everything a run needs is there")


def recent_runs(records: Iterable[RunRecord], now: float | None = None) -> list[RecentRun]:
    """`records` with the newest first."""
    found = []
    for record in list(records)[:RECENT_RUNS]:
        parts = [record.env_id, age(record.created_at, now)]
        detail = " · ".join(part for part in parts if part)
        found.append(RecentRun(record.run_id, record.run_name, state_word(record), detail))
    return found


def _row(result: CheckResult) -> CheckRow:
    if result.ok:
        return CheckRow(Verdict.OK, result.check, result.message)
    verdict = Verdict.FAILURE if result.required else Verdict.WARNING
    return CheckRow(verdict, result.check, result.message, result.fix)


def _row_of_absence(state: WorkbenchState) -> CheckRow:
    if state.connection is Connection.LOST:
        fix = "mosaic daemon start"
        return CheckRow(Verdict.FAILURE, "daemon", state.connection_problem or "lost", fix)
    return CheckRow(Verdict.WAITING, "daemon", state.connection_problem or "looking for it")
