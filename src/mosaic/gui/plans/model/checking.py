"""Checking: when a plan is checked, and which answer is about the text that is there now."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mosaic.bundles.venv_store import python_of
from mosaic.contracts.bundles import VenvInfo, VenvState
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.front.human import amount, size
from mosaic.front.plan_check import PlanChecker, PlanProblem
from mosaic.gui.state.bundles_state import BundlesState
from mosaic.gui.state.worker_bundles import bundle_of, own_bundle

_LONGEST_TITLE = 60


@dataclass(frozen=True)
class CheckerState:
    """What checks the plans of a worker; or why nothing does, and what to install."""

    checker: PlanChecker | None = None
    reason: str = ""
    missing: VenvInfo | None = None

    @property
    def install_text(self) -> str:
        """Of the button that does it; empty where there is nothing to do."""
        if self.missing is None:
            return ""
        fetched = f" ({size(self.missing.fetch_bytes)})" if self.missing.fetch_bytes else ""
        return f"Install{fetched}"


def checker_state(name: str, worker: WorkerInfo | None, bundles: BundlesState) -> CheckerState:
    """Only interpreters that this installation knows: what a run names is nothing but data."""
    support = worker.capabilities.agents if worker and worker.capabilities else None
    if worker is None:
        return CheckerState(reason=f"{name} is not installed here, so plans are not checked")
    if support is None or not _is_module(support.plan_checker):
        return CheckerState(reason=f"{worker.name} has nothing that checks plans")
    own = own_bundle(worker)
    if own and not bundles.is_listed:
        return CheckerState(reason="Looking for what checks plans…")
    info = bundle_of(worker, bundles)
    if info is None or info.state is VenvState.PRESENT:
        known = bundles.info(own)
        if not worker.is_ready and known is not None and known.state is VenvState.UNAVAILABLE:
            return CheckerState(reason=f"Plans are not checked: {known.problem or 'no bundle'}")
        return CheckerState(PlanChecker(worker.python, support.plan_checker))
    title = _title(info)
    if info.is_usable:
        return CheckerState(PlanChecker(str(python_of(Path(info.path))), support.plan_checker))
    if info.state is VenvState.INSTALLING:
        share = f": {info.progress.percent}" if info.progress is not None else ""
        return CheckerState(reason=f"{title} is being installed{share}")
    what = "is damaged" if info.state is VenvState.BROKEN else "is not installed"
    return CheckerState(reason=f"Plans are not checked: {title} {what}", missing=info)


def _is_module(name: str) -> bool:
    return bool(name) and all(part.isidentifier() for part in name.split("."))


def _title(info: VenvInfo) -> str:
    title = " ".join(info.title.split()) or info.name
    return title if len(title) <= _LONGEST_TITLE else f"{title[: _LONGEST_TITLE - 1]}…"


@dataclass(frozen=True)
class Checked:
    """What is to be checked: a text, for whom, by what."""

    text: str
    role: str
    checker: PlanChecker


class Checking:
    """At most one check is under way; an answer about something else is dropped."""

    def __init__(self) -> None:
        self._wanted: Checked | None = None
        self._under_way: Checked | None = None
        self._answered: Checked | None = None
        self.problems: tuple[PlanProblem, ...] = ()
        self.failure = ""  # why there is no answer

    @property
    def is_current(self) -> bool:
        """What is known is about what is there now."""
        return self._wanted is not None and self._wanted == self._answered

    @property
    def is_outdated(self) -> bool:
        """What is under way is about something else: nobody waits for it."""
        return self._under_way is not None and self._under_way != self._wanted

    def want(self, wanted: Checked | None) -> None:
        self._wanted = wanted
        if wanted is None:
            self._answered, self.problems, self.failure = None, (), ""

    def begin(self) -> Checked | None:
        """What to check now; None: nothing, or another one is still under way."""
        if self._under_way is not None or self._wanted is None or self.is_current:
            return None
        self._under_way = self._wanted
        return self._under_way

    def end(self, problems: tuple[PlanProblem, ...], failure: str = "") -> bool:
        """Returns whether the answer counts."""
        done, self._under_way = self._under_way, None
        if done is None or done != self._wanted:
            return False
        self._answered, self.problems, self.failure = done, problems, failure
        return True


def summary(problems: tuple[PlanProblem, ...]) -> str:
    errors = sum(problem.is_error for problem in problems)
    warnings = len(problems) - errors
    if not problems:
        return "No problems"
    parts = [amount(errors, "error")] if errors else []
    parts += [amount(warnings, "warning")] if warnings else []
    return ", ".join(parts)


def problem_text(problem: PlanProblem) -> str:
    """A line of the list; the word tells errors from warnings, whatever the colours."""
    kind = "Error" if problem.is_error else "Warning"
    if not problem.line:
        return f"{kind}: {problem.message}"
    return f"{kind} · line {problem.line}, column {problem.column}: {problem.message}"
