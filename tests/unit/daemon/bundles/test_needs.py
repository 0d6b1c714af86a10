from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest

from mosaic.bundles.locks import Lock
from mosaic.bundles.venv_store import VenvStore
from mosaic.contracts.bundles import Accelerator, VenvNeed, VenvState
from mosaic.daemon.bundles.needs import (
    ResolvedVenv,
    VenvResolver,
    agreed_error,
    missing_error,
    waiting_for_somebody,
)
from mosaic.daemon.bundles.shelf import CachedShelf
from mosaic.errors import BundleError
from mosaic.paths import Home
from tests.support.bundle_builds import lock_of
from tests.support.made_venvs import make_venv
from tests.support.tiny_wheels import PYTHON, make_wheel

NEED = VenvNeed("learner")
VERSION = "{}.{}.{}".format(*sys.version_info[:3])


class Shelf:
    """What a daemon would know; locks by accelerator."""

    python = VERSION
    accelerator = Accelerator.CPU

    def __init__(self, locks: dict[Accelerator, Lock], present: Iterable[str] = ()) -> None:
        self.locks, self.present = locks, set(present)
        self.damaged: set[Accelerator] = set()

    def is_present(self, name: str) -> bool:
        if name not in ("learner", "base"):
            raise BundleError(f"There is no bundle {name!r}.", bundle=name)
        return name in self.present

    def lock_of(self, name: str, accelerator: Accelerator) -> Lock:
        if accelerator not in self.locks:
            raise BundleError(f"{name} has no {accelerator} builds.", hint="take others")
        if accelerator in self.damaged:
            raise BundleError(f"The {accelerator} lock of {name} was changed by hand.")
        return self.locks[accelerator]

    def why_no_lock(self, name: str, accelerator: Accelerator) -> str:
        return "" if accelerator in self.locks else f"nobody made one for {accelerator}"


@pytest.fixture
def lock(tmp_path: Path) -> Lock:
    return lock_of([make_wheel(tmp_path / "wheels", "alpha")])


def resolver(home: Path, shelf: Shelf, python: str | None = None) -> VenvResolver:
    store = VenvStore(Home(home))
    return VenvResolver(store, cast(CachedShelf, shelf), lambda name: python)


def test_what_is_installed_beside_mosaic_needs_no_venv(tmp_path: Path, lock: Lock) -> None:
    shelf = Shelf({Accelerator.CPU: lock}, present=["learner"])
    assert resolver(tmp_path, shelf).resolve(NEED) == ResolvedVenv(NEED, VenvState.PRESENT)


def test_a_venv_is_used_as_soon_as_it_is_there(tmp_path: Path, lock: Lock) -> None:
    found = resolver(tmp_path, Shelf({Accelerator.CPU: lock}))
    absent = found.resolve(NEED)
    assert (absent.state, absent.fetch_bytes) == (VenvState.ABSENT, lock.fetch_bytes)
    assert absent.path is not None
    make_venv(absent.path, lock)
    there = found.resolve(NEED)
    assert there.is_usable and there.python == f"{absent.path}/bin/python"
    assert there.fetch_bytes == 0


def test_builds_for_something_else_are_used_where_somebody_has_installed_them(
    tmp_path: Path, lock: Lock
) -> None:
    cuda = Lock(lock.bundle, lock.python, Accelerator.CUDA, lock.packages, lock.text)
    shelf = Shelf({Accelerator.CPU: lock, Accelerator.CUDA: cuda})
    shelf.accelerator = Accelerator.CUDA
    found = resolver(tmp_path, shelf)
    assert found.resolve(NEED).lock == cuda
    make_venv(VenvStore(Home(tmp_path)).path_of(lock, VERSION), lock)
    assert found.resolve(NEED).lock == lock
    assert found.exact(NEED, Accelerator.CUDA).lock == cuda


def for_accelerator(lock: Lock, accelerator: Accelerator) -> Lock:
    return Lock(lock.bundle, lock.python, accelerator, lock.packages, lock.text)


@pytest.mark.parametrize(
    ("suitable", "there", "taken", "said"),
    [
        ("cpu", ["cuda", "rocm"], "cuda", "larger and works without an NVIDIA card"),
        ("rocm", ["cpu", "cuda"], "cpu", "does not use the graphics card"),
        ("rocm", ["cuda"], "cuda", "larger and works without an NVIDIA card"),
        ("cuda", ["cpu", "rocm"], "cpu", "does not use the graphics card"),
    ],
)
def test_where_nothing_suits_the_machine_a_build_is_offered_that_works_anyway(
    tmp_path: Path, lock: Lock, suitable: str, there: list[str], taken: str, said: str
) -> None:
    shelf = Shelf({Accelerator(name): for_accelerator(lock, Accelerator(name)) for name in there})
    shelf.accelerator = Accelerator(suitable)
    found = resolver(tmp_path, shelf)
    venv = found.resolve(NEED)
    assert venv.state is VenvState.ABSENT and venv.problem is None
    assert venv.lock == shelf.locks[Accelerator(taken)]
    assert venv.fetch_bytes == venv.lock.fetch_bytes
    assert said in venv.note and venv.note.endswith(f": nobody made one for {suitable}.")
    # What is installed is what was shown.
    assert found.of_bundle("learner", None) == venv
    # Who names an accelerator gets that one or nothing.
    asked = found.exact(NEED, shelf.accelerator)
    assert (asked.state, asked.lock, asked.note) == (VenvState.UNAVAILABLE, None, "")
    with pytest.raises(BundleError, match=f"no {suitable} builds"):
        found.of_bundle("learner", shelf.accelerator)


def test_builds_for_rocm_stand_in_for_none(tmp_path: Path, lock: Lock) -> None:
    shelf = Shelf({Accelerator.ROCM: for_accelerator(lock, Accelerator.ROCM)})
    assert resolver(tmp_path, shelf).resolve(NEED).state is VenvState.UNAVAILABLE


def test_a_damaged_lock_is_said_and_nothing_larger_is_taken(tmp_path: Path, lock: Lock) -> None:
    locks = {item: for_accelerator(lock, item) for item in (Accelerator.CPU, Accelerator.CUDA)}
    shelf = Shelf(locks)
    shelf.damaged = {Accelerator.CPU}
    venv = resolver(tmp_path, shelf).resolve(NEED)
    assert venv.state is VenvState.UNAVAILABLE and venv.problem is not None
    assert "changed by hand" in venv.problem.message


def test_what_nobody_can_install_says_why(tmp_path: Path) -> None:
    found = resolver(tmp_path, Shelf({}))
    venv = found.resolve(NEED)
    assert (venv.state, venv.lock) == (VenvState.UNAVAILABLE, None)
    assert missing_error([venv]).message == "learner has no cpu builds."
    unknown = found.resolve(VenvNeed("lerner"))
    assert unknown.problem is not None and "lerner" in unknown.problem.message


def test_a_lock_that_a_run_has_kept_comes_before_all_else(tmp_path: Path, lock: Lock) -> None:
    newer = lock_of([make_wheel(tmp_path / "wheels", "alpha", "2.0")])
    shelf = Shelf({Accelerator.CPU: newer}, present=["learner"])
    kept = resolver(tmp_path, shelf).resolve(NEED, {"learner": lock})
    assert kept.lock == lock and kept.is_foreign
    assert not resolver(tmp_path, shelf).resolve(NEED, {"learner": newer}).is_foreign


def test_a_lock_for_another_python_needs_that_python(tmp_path: Path, lock: Lock) -> None:
    other = Lock("learner", "3.1", lock.accelerator, lock.packages, lock.text)
    assert other.python != PYTHON
    found = resolver(tmp_path, Shelf({})).resolve(NEED, {"learner": other})
    assert found.state is VenvState.UNAVAILABLE and found.problem is not None
    assert "Python 3.1" in found.problem.message


def venv_of(state: VenvState, lock: Lock, name: str = "learner") -> ResolvedVenv:
    return ResolvedVenv(VenvNeed(name), state, lock, Path("/venvs/x"))


def test_what_is_missing_is_said_with_its_size_and_its_command(lock: Lock) -> None:
    error = missing_error([venv_of(VenvState.ABSENT, lock), venv_of(VenvState.ABSENT, lock, "old")])
    assert "learner and old" in error.message and "to fetch" in error.message
    assert error.hint == "`mosaic bundles install learner` and `mosaic bundles install old`"
    sentence = waiting_for_somebody((venv_of(VenvState.ABSENT, lock),), "01RUN")
    assert "`mosaic bundles install learner`, or `mosaic stop 01RUN`" in sentence


def test_of_a_build_that_stands_in_the_reason_is_said_beside_the_size(lock: Lock) -> None:
    venv = replace(venv_of(VenvState.ABSENT, lock), note="This is the CUDA build: no other.")
    error = missing_error([venv, venv])
    assert error.message.endswith(" to fetch). This is the CUDA build: no other")
    assert error.details["note"] == "This is the CUDA build: no other."
    # The line of a run in the queue has no room for it.
    assert "CUDA" not in waiting_for_somebody([venv], "01RUN")


def test_more_than_was_agreed_to_is_refused_with_both_figures(lock: Lock) -> None:
    venvs = [venv_of(VenvState.ABSENT, lock), venv_of(VenvState.INSTALLED, lock)]
    assert agreed_error(venvs, None) is None
    assert agreed_error(venvs, lock.fetch_bytes) is None
    error = agreed_error(venvs, 10)
    assert error is not None and "10 B were agreed to" in error.message
    assert error.details["fetch_bytes"] == lock.fetch_bytes


# Venvs that hold more than is needed


class Joined(Shelf):
    """A bundle with add-ons; locks by name and accelerator."""

    def __init__(self, *locks: Lock) -> None:
        super().__init__({})
        self.all = {(lock.bundle, lock.accelerator): lock for lock in locks}

    def is_present(self, name: str) -> bool:
        return name in self.present

    def lock_of(self, name: str, accelerator: Accelerator) -> Lock:
        if (name, accelerator) not in self.all:
            raise BundleError(f"{name} has no {accelerator} builds.")
        return self.all[name, accelerator]

    def why_no_lock(self, name: str, accelerator: Accelerator) -> str:
        return "" if (name, accelerator) in self.all else f"nobody made one for {accelerator}"


class Family:
    """The locks of a learner and what is joined with it."""

    def __init__(self, folder: Path) -> None:
        self.alpha = make_wheel(folder, "alpha")
        games = make_wheel(folder, "games", ballast=20_000)
        video = make_wheel(folder, "video", ballast=500)
        self.learner = lock_of([self.alpha])
        self.games = lock_of([self.alpha, games], "learner+games")
        self.video = lock_of([self.alpha, video], "learner+video")
        self.both = lock_of([self.alpha, games, video], "learner+games+video")
        self.other = lock_of([self.alpha], "learners+games")

    @property
    def all(self) -> tuple[Lock, ...]:
        return self.learner, self.games, self.video, self.both, self.other


@pytest.fixture
def family(tmp_path: Path) -> Family:
    return Family(tmp_path / "wheels")


def install(home: Path, *locks: Lock) -> None:
    for lock in locks:
        make_venv(VenvStore(Home(home)).path_of(lock, VERSION), lock)


def test_an_installed_venv_that_holds_all_of_it_and_more_serves(
    tmp_path: Path, family: Family
) -> None:
    found = resolver(tmp_path, Joined(*family.all))
    install(tmp_path, family.other, family.games)
    venv = found.resolve(VenvNeed("learner", "python", is_optional=True))
    assert venv.state is VenvState.INSTALLED and venv.lock == family.games
    assert venv.need == VenvNeed("learner+games", "python", is_optional=True)
    assert venv.path is not None and venv.python == f"{venv.path}/bin/python"
    # What it lacks, it cannot serve; and people mean the one they name.
    assert found.resolve(VenvNeed("learner+video")).state is VenvState.ABSENT
    assert found.exact(NEED).state is VenvState.ABSENT and found.exact(NEED).name == "learner"
    assert found.of_bundle("learner", None).state is VenvState.ABSENT


def test_its_own_venv_comes_first_and_then_the_smallest(tmp_path: Path, family: Family) -> None:
    found = resolver(tmp_path, Joined(*family.all))
    for lock in (family.both, family.games, family.video, family.learner):
        install(tmp_path, lock)
        assert found.resolve(NEED).lock == lock, lock.bundle
    broken = found.exact(NEED).path
    assert broken is not None
    (broken / "bin" / "python").unlink()
    assert found.resolve(NEED).lock == family.video


def test_what_is_beside_mosaic_comes_before_a_larger_venv(tmp_path: Path, family: Family) -> None:
    shelf = Joined(*family.all)
    shelf.present.add("learner")
    install(tmp_path, family.games)
    assert resolver(tmp_path, shelf).resolve(NEED).state is VenvState.PRESENT


def test_of_larger_ones_the_build_that_suits_the_machine_is_taken(
    tmp_path: Path, family: Family
) -> None:
    cuda = for_accelerator(family.both, Accelerator.CUDA)
    shelf = Joined(*family.all, cuda, for_accelerator(family.learner, Accelerator.CUDA))
    shelf.accelerator = Accelerator.CUDA
    found = resolver(tmp_path, shelf)
    install(tmp_path, family.games)
    assert found.resolve(NEED).lock == family.games, "it suits less, and somebody has chosen it"
    install(tmp_path, cuda)
    assert found.resolve(NEED).lock == cuda


def test_a_larger_venv_of_another_time_or_with_other_versions_does_not_serve(
    tmp_path: Path, family: Family
) -> None:
    newer = make_wheel(tmp_path / "wheels", "alpha", "2.0")
    install(tmp_path, family.games)
    anew = Joined(family.learner, lock_of([newer], "learner+games"))
    assert resolver(tmp_path, anew).resolve(NEED).state is VenvState.ABSENT
    differs = Joined(lock_of([newer]), family.games)
    assert resolver(tmp_path, differs).resolve(NEED).state is VenvState.ABSENT
    gone = Joined(family.learner)
    assert resolver(tmp_path, gone).resolve(NEED).state is VenvState.ABSENT


def test_a_larger_lock_that_was_kept_is_found_again_though_its_venv_is_gone(
    tmp_path: Path, family: Family
) -> None:
    found = resolver(tmp_path, Joined(lock_of([make_wheel(tmp_path, "alpha", "2.0")])))
    kept = {lock.bundle: lock for lock in (family.other, family.both, family.games)}
    venv = found.resolve(NEED, kept)
    assert (venv.state, venv.name, venv.lock) == (VenvState.ABSENT, "learner+games", family.games)
    assert venv.is_foreign
    own = found.resolve(NEED, {**kept, "learner": family.learner})
    assert own.lock == family.learner
    assert found.resolve(VenvNeed("learner+video"), kept).lock == family.both


@pytest.mark.parametrize(
    "name", ["learner+../../outside", "learner+", "learner+" + "+".join(["games"] * 60)]
)
def test_a_kept_lock_with_a_name_that_is_none_counts_for_nothing(
    tmp_path: Path, family: Family, name: str
) -> None:
    found = resolver(tmp_path, Joined(family.learner))
    venv = found.resolve(NEED, {name: replace(family.games, bundle=name)})
    assert (venv.name, venv.lock) == ("learner", family.learner)
