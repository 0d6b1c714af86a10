"""Bundles in words: states, sizes, totals, and how long the fetching takes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from mosaic.contracts.bundles import (
    Accelerator,
    InstallPhase,
    InstallProgress,
    VenvInfo,
    VenvState,
)
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.front.bundle_words import (
    TimeLeft,
    build_words,
    bytes_words,
    disk_words,
    fetch_words,
    install_words,
    phase_words,
    program_bundle_words,
    run_bundle_words,
    state_words,
    total_words,
)

ABSENT = VenvInfo(
    *("learner+atari", "Learners with Atari", "to train on Atari games", VenvState.ABSENT),
    python="3.11",
    fetch_bytes=212_000_000,
    disk_bytes=900_000_000,
)
INSTALLED = replace(ABSENT, state=VenvState.INSTALLED, path="/home/venvs/x")


def test_each_state_has_words() -> None:
    said = {state: state_words(replace(ABSENT, state=state)) for state in VenvState}
    assert said[VenvState.PRESENT] == "with MOSAIC"
    assert said[VenvState.ABSENT] == "not installed"
    assert all(said.values())


def test_an_install_under_way_says_how_far_it_is() -> None:
    progress = InstallProgress(InstallPhase.FETCHING, fraction=0.61)
    info = replace(ABSENT, state=VenvState.INSTALLING, progress=progress)
    assert state_words(info) == "installing, 61 %"
    assert state_words(replace(info, progress=None)) == "installing"


def test_only_what_is_missing_has_something_to_fetch() -> None:
    assert fetch_words(ABSENT) == "212 MB"
    assert fetch_words(INSTALLED) == ""
    assert fetch_words(replace(ABSENT, state=VenvState.PRESENT)) == ""


def test_an_estimate_of_the_disk_is_called_one() -> None:
    assert disk_words(ABSENT) == "~900 MB"
    assert disk_words(INSTALLED) == "900 MB"
    assert disk_words(replace(ABSENT, state=VenvState.PRESENT)) == ""


def test_the_total_counts_what_is_on_disk_and_says_what_is_shared() -> None:
    other = replace(INSTALLED, name="old", disk_bytes=100_000_000, shared_bytes=60_000_000)
    assert total_words([ABSENT]) == "nothing is installed yet"
    assert total_words([ABSENT, INSTALLED]) == "1 venv, 900 MB"
    text = total_words([ABSENT, INSTALLED, other])
    assert text.startswith("2 venvs, 1.0 GB; 60.0 MB of it in files that several share")


def test_before_an_install_its_size_and_build_are_said() -> None:
    text = install_words(replace(ABSENT, accelerator=Accelerator.CUDA))
    assert text == (
        "learner+atari: Learners with Atari "
        "(at most 212 MB to fetch; about 900 MB on disk; Python 3.11, CUDA)"
    )
    assert "nothing is fetched" in install_words(ABSENT, "/media/wheels")
    assert build_words(replace(ABSENT, python="")) == "CPU"
    assert build_words(replace(ABSENT, python="3.11.7")) == "Python 3.11, CPU"


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (InstallProgress(InstallPhase.FETCHING, "torch"), "fetching torch"),
        (InstallProgress(InstallPhase.TESTING, "numpy"), "testing numpy"),
        (InstallProgress(InstallPhase.BUILDING), "building"),
        (InstallProgress(InstallPhase.WAITING, "other"), "waiting for its turn"),
    ],
)
def test_a_phase_says_what_it_is_about(progress: InstallProgress, text: str) -> None:
    assert phase_words(progress) == text


def test_fetched_bytes_are_said_of_all() -> None:
    progress = InstallProgress(InstallPhase.FETCHING, "", 3_100_000, 26_000_000)
    assert bytes_words(progress) == "3.1 MB of 26.0 MB"
    assert bytes_words(InstallProgress(InstallPhase.FETCHING)) == ""
    assert bytes_words(replace(progress, phase=InstallPhase.BUILDING)) == ""


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def fetching(done: int, total: int = 100) -> InstallProgress:
    return InstallProgress(InstallPhase.FETCHING, "x", done, total)


def test_the_time_left_follows_the_speed_that_was_measured() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    assert left.words(fetching(20)) == ""
    clock.now += 1.0
    assert left.words(fetching(30)) == "", "too early to say"
    clock.now += 3.0
    # 40 in 4 s: the other 40 take as long.
    assert left.words(fetching(60)) == "4.0 s left"


def test_nobody_knows_how_long_what_stands_still_or_is_not_fetched_takes() -> None:
    clock = Clock()
    left = TimeLeft(clock)
    left.words(fetching(20))
    clock.now += 60.0
    assert left.words(fetching(20)) == ""
    assert left.words(fetching(21)) == "", "too little to tell the speed by"
    assert left.words(InstallProgress(InstallPhase.BUILDING, "", 50, 100)) == ""


def run_with(bundle: object, *others: object) -> RunRecord:
    manifest = {
        "run_id": "01KATF461V3681NE4E0T3TX33Z",
        "worker_type": "w",
        "bundle": bundle,
        "other_bundles": list(others),
    }
    return RunRecord(
        *("01KATF461V3681NE4E0T3TX33Z", "r", "w", RunState.TERM, None, 1, 0, 0.0, 0.0),
        manifest=manifest,
    )


def test_a_run_says_which_venv_it_had() -> None:
    bundle = {"name": "learner", "lock_hash": "ab" * 32, "accelerator": "cpu", "python": "3.11.7"}
    assert run_bundle_words(run_with(bundle)) == "learner, CPU, Python 3.11.7, lock abababababab"


@pytest.mark.parametrize("bundle", [{}, {"python": "3.11.7"}, 7, {"name": 7}])
def test_a_run_beside_mosaic_or_with_a_damaged_manifest_says_nothing(bundle: object) -> None:
    assert run_bundle_words(run_with(bundle)) == ""


def test_a_run_says_which_venv_its_program_had() -> None:
    scripts = {"name": "scripts", "lock_hash": "cd" * 32, "accelerator": "cpu", "python": "3.10.4"}
    words = "scripts, CPU, Python 3.10.4, lock cdcdcdcdcdcd"
    assert program_bundle_words(run_with({}, scripts)) == words
    assert run_bundle_words(run_with({}, scripts)) == "", "its worker ran beside MOSAIC"
    assert program_bundle_words(run_with({}, scripts, {"name": "more"})) == f"{words}; more"
    assert program_bundle_words(run_with({})) == program_bundle_words(run_with({}, 7)) == ""


def test_a_build_that_stands_in_says_why_beside_its_size() -> None:
    note = "This is the CUDA build: there is no other."
    words = install_words(replace(ABSENT, note=note))
    assert "at most 212 MB to fetch" in words and words.endswith(f"). {note}")
    assert install_words(ABSENT).endswith(")")
