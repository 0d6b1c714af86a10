"""Which answer of a checker counts, and what checks plans at all."""

from __future__ import annotations

import dataclasses

import pytest

from mosaic.contracts.agents import AgentsSupport
from mosaic.contracts.bundles import BundleRule, VenvInfo, VenvState
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.front.plan_check import PlanChecker, PlanProblem
from mosaic.gui.plans.model.checking import (
    Checked,
    CheckerState,
    Checking,
    checker_state,
    problem_text,
    summary,
)
from mosaic.gui.state.bundles_state import BundlesState
from tests.unit.gui.bundle_samples import going_on, info, installed

CHECKER = PlanChecker("/venv/bin/python", "worker.plans")
ERROR, WARNING = PlanProblem(3, 7, "no such action"), PlanProblem(0, 0, "strange", False)


def about(text: str, role: str = "learner") -> Checked:
    return Checked(text, role, CHECKER)


def test_one_check_at_a_time_and_the_newest_text_next() -> None:
    checking = Checking()
    assert checking.begin() is None
    checking.want(about("a"))
    assert checking.begin() == about("a") and checking.begin() is None
    checking.want(about("ab"))
    checking.want(about("abc"))
    assert checking.is_outdated and checking.begin() is None
    assert not checking.end((ERROR,)), "it is about a text that is gone"
    assert checking.problems == () and not checking.is_current
    assert checking.begin() == about("abc")
    assert checking.end((ERROR,))
    assert checking.is_current and checking.problems == (ERROR,)
    assert checking.begin() is None, "nothing has changed"


def test_another_role_or_another_checker_is_another_question() -> None:
    checking = Checking()
    checking.want(about("a"))
    checking.begin()
    checking.end(())
    checking.want(about("a", "coach"))
    assert not checking.is_current and checking.begin() == about("a", "coach")


def test_what_was_known_is_forgotten_where_nothing_checks_any_more() -> None:
    checking = Checking()
    checking.want(about("a"))
    checking.begin()
    checking.end((ERROR,), "why")
    checking.want(None)
    assert (checking.problems, checking.failure, checking.is_current) == ((), "", False)
    checking.want(about("a"))
    assert checking.begin() == about("a")


def test_errors_and_warnings_are_told_apart_by_words() -> None:
    assert summary(()) == "No problems"
    assert summary((ERROR, ERROR, WARNING)) == "2 errors, 1 warning"
    assert summary((WARNING,)) == "1 warning"
    assert problem_text(ERROR) == "Error · line 3, column 7: no such action"
    assert problem_text(WARNING) == "Warning: strange"


def worker_of(module: str = "worker.plans", **changes: object) -> WorkerInfo:
    capabilities = WorkerCapabilities(
        "sample",
        agents=AgentsSupport(plan_checker=module),
        bundle_rules=(BundleRule("learner"),),
    )
    made = WorkerInfo("sample", "sample.cli", "/mosaic/bin/python", capabilities=capabilities)
    return dataclasses.replace(made, **changes)  # type: ignore[arg-type]


def bundles_of(*infos: VenvInfo) -> BundlesState:
    state = BundlesState()
    state.set_listed(infos)
    return state


def found(worker: WorkerInfo | None, *infos: VenvInfo) -> CheckerState:
    return checker_state("sample", worker, bundles_of(*infos))


def test_the_interpreter_of_the_installed_bundle_checks() -> None:
    state = found(worker_of(), installed())
    path = installed().path
    assert state.checker == PlanChecker(f"{path}/bin/python", "worker.plans")
    assert not state.reason and not state.install_text


def test_a_larger_bundle_that_holds_it_will_do() -> None:
    state = found(worker_of(), info(), installed("learner+atari"))
    assert state.checker is not None and "learner+atari" in state.checker.python


def test_beside_mosaic_the_worker_is_its_own_checker() -> None:
    state = found(worker_of(), info(state=VenvState.PRESENT))
    assert state.checker == PlanChecker("/mosaic/bin/python", "worker.plans")


def test_what_is_missing_can_be_installed() -> None:
    state = found(worker_of(), info())
    assert state.checker is None and state.install_text == "Install (212 MB)"
    assert state.reason == "Plans are not checked: The learner is not installed"
    damaged = found(worker_of(), info(state=VenvState.BROKEN))
    assert damaged.reason.endswith("is damaged") and damaged.missing is not None


def test_an_install_that_goes_on_is_waited_for() -> None:
    state = found(worker_of(), info(state=VenvState.INSTALLING, progress=going_on(0.34)))
    assert state.reason == "The learner is being installed: 34 %" and not state.install_text


@pytest.mark.parametrize("module", ["", "-c", "a b", "os;x", "../plans", "a..b"])
def test_a_name_that_is_no_module_is_never_run(module: str) -> None:
    state = found(worker_of(module), installed())
    assert state.checker is None and "nothing that checks plans" in state.reason


def test_whoever_is_not_here_checks_nothing() -> None:
    assert found(None).reason == "sample is not installed here, so plans are not checked"
    assert "nothing that checks" in found(worker_of(capabilities=None), installed()).reason
    unread = checker_state("sample", worker_of(), BundlesState())
    assert unread.checker is None and unread.reason.startswith("Looking")
