"""What is told of an install."""

from __future__ import annotations

import itertools

from mosaic.bundles.install_report import InstallReport
from mosaic.contracts.bundles import InstallPhase, InstallProgress


def test_neither_bytes_nor_fraction_go_back() -> None:
    told: list[InstallProgress] = []
    report = InstallReport(told.append, 1000)
    report.tell(InstallPhase.WAITING)
    for number, done in enumerate((0, 500, 300, 2000, 100)):
        report.fetched(f"package {number}", done)
    report.tell(InstallPhase.BUILDING, within=0.5)
    report.tell(InstallPhase.FETCHING, "once more")
    report.tell(InstallPhase.TESTING, "alpha", 7.0)
    report.tell(InstallPhase.DONE)
    assert [item.done_bytes for item in told[:4]] == [0, 0, 500, 500]
    for before, after in itertools.pairwise(told):
        assert after.fraction >= before.fraction and after.done_bytes >= before.done_bytes
    assert (told[-1].fraction, told[-1].done_bytes, told[-1].total_bytes) == (1.0, 1000, 1000)


def test_the_same_is_not_told_twice_and_small_steps_are_told_together() -> None:
    told: list[InstallProgress] = []
    report = InstallReport(told.append, 10**6)
    for done in range(1000):
        report.fetched("alpha", done)
    report.fetched("beta", 1000)
    assert len(told) < 50 and told[-1].item == "beta"


def test_a_lock_without_sizes_is_no_division_by_nothing() -> None:
    told: list[InstallProgress] = []
    InstallReport(told.append, 0).fetched("alpha", 5)
    assert (told[-1].fraction, told[-1].done_bytes) == (0.0, 0)
