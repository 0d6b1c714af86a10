"""BundlesState: the bundles that the daemon lists, and what is known sooner than its next list."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from psygnal import Signal

from mosaic.contracts.bundles import InstallPhase, InstallProgress, VenvInfo, VenvState


class BundlesState:
    changed = Signal()

    def __init__(self) -> None:
        self.is_listed = False
        self.problem = ""  # why the list cannot be read now
        self.problems: tuple[str, ...] = ()  # of packages that bring bundles
        self.asked_name = ""  # the one that somebody wants to see
        self._listed: tuple[VenvInfo, ...] = ()
        # By name, with one for each accelerator it can be installed for.
        self._variants: dict[str, tuple[VenvInfo, ...]] = {}
        # Of installs that are followed here, by name; the daemon's list is a little older.
        self._progress: dict[str, InstallProgress] = {}
        # The last words of an install that failed, until it is tried again.
        self._failures: dict[str, InstallProgress] = {}

    @property
    def infos(self) -> tuple[VenvInfo, ...]:
        """As they are now, one for each name, in the order of the daemon's list."""
        return tuple(map(self._as_it_is, self._first.values()))

    @property
    def left_over(self) -> tuple[VenvInfo, ...]:
        """On disk beside those: of older locks, or of an accelerator that is not the chosen one."""
        first = self._first
        return tuple(item for item in self._listed if first[item.name] is not item)

    def info(self, name: str) -> VenvInfo | None:
        found = self._first.get(name)
        return None if found is None else self._as_it_is(found)

    def variants(self, name: str) -> tuple[VenvInfo, ...]:
        """One for each accelerator, where that has been asked; the first suits this machine."""
        info = self.info(name)
        known = self._variants.get(name, ())
        return known or (() if info is None else (info,))

    def is_usable(self, name: str) -> bool:
        info = self.info(name)
        return info is not None and info.is_usable

    @property
    def usable(self) -> frozenset[str]:
        return frozenset(item.name for item in self.infos if item.is_usable)

    @property
    def _first(self) -> dict[str, VenvInfo]:
        found: dict[str, VenvInfo] = {}
        for item in self._listed:
            found.setdefault(item.name, item)
        return found

    @property
    def installing(self) -> tuple[str, ...]:
        """The names of those that are being installed, by whomever."""
        found = (item.name for item in self.infos if item.state is VenvState.INSTALLING)
        return tuple(dict.fromkeys((*self._progress, *found)))

    def set_listed(self, infos: Iterable[VenvInfo]) -> None:
        listed = tuple(infos)
        there = {item.name for item in listed if item.is_usable}
        failures = {name: told for name, told in self._failures.items() if name not in there}
        is_same = (listed, failures) == (self._listed, self._failures)
        if is_same and self.is_listed and not self.problem:
            return
        if listed != self._listed:
            self._variants.clear()  # sizes may be others now
        self._listed, self._failures = listed, failures
        self.is_listed, self.problem = True, ""
        self.changed.emit()

    def set_variants(self, name: str, infos: Iterable[VenvInfo]) -> None:
        """Builds that are the same for several accelerators count once."""
        builds: dict[str, VenvInfo] = {}
        for item in infos:
            builds.setdefault(item.lock_hash or item.accelerator, item)
        self._variants[name] = tuple(builds.values())
        self.changed.emit()

    def has_variants(self, name: str) -> bool:
        return name in self._variants

    def set_problem(self, problem: str) -> None:
        """What was listed before is still shown: it is more than nothing."""
        if problem != self.problem:
            self.problem = problem
            self.changed.emit()

    def set_problems(self, problems: Iterable[str]) -> None:
        found = tuple(problems)
        if found != self.problems:
            self.problems = found
            self.changed.emit()

    def show_progress(self, name: str, progress: InstallProgress) -> None:
        """Of an install that goes on; the first one forgets how the last one ended."""
        had_failed = self._failures.pop(name, None) is not None
        if had_failed or self._progress.get(name) != progress:
            self._progress[name] = progress
            self.changed.emit()

    def end_install(self, name: str, last: InstallProgress) -> None:
        self._progress.pop(name, None)
        self._failures.pop(name, None)
        if last.phase is InstallPhase.FAILED:
            self._failures[name] = last
        state = VenvState.INSTALLED if last.phase is InstallPhase.DONE else VenvState.ABSENT
        self._listed = tuple(
            replace(item, state=state, progress=None)
            if item.name == name and _is_between(item.state)
            else item
            for item in self._listed
        )
        self.changed.emit()

    def put(self, info: VenvInfo) -> None:
        """One that has been looked at anew."""
        self._listed = tuple(info if _is_same(item, info) else item for item in self._listed)
        self.changed.emit()

    def forget_failure(self, name: str) -> None:
        if self._failures.pop(name, None) is not None:
            self.changed.emit()

    def failure(self, name: str) -> InstallProgress | None:
        return self._failures.get(name)

    def _as_it_is(self, info: VenvInfo) -> VenvInfo:
        progress = self._progress.get(info.name)
        if progress is not None and not info.is_usable:
            return replace(info, state=VenvState.INSTALLING, progress=progress)
        failure = self._failures.get(info.name)
        if failure is not None and info.state is VenvState.ABSENT:
            return replace(info, progress=failure)
        return info


def _is_between(state: VenvState) -> bool:
    """Neither is it there, nor is there a reason why it cannot be."""
    return state in (VenvState.ABSENT, VenvState.INSTALLING, VenvState.BROKEN)


def _is_same(one: VenvInfo, other: VenvInfo) -> bool:
    return (one.name, one.accelerator) == (other.name, other.accelerator)
