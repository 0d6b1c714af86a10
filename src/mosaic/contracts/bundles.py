"""Bundles: what a worker or a family of environments needs, and the venv that holds it.

A bundle is a named list of packages with locks: every file by its hash, for each version of Python
and each accelerator. Add-ons (one for each family of environments) join the bundle of a worker:
`learner+atari` is one venv with both.
"""

from __future__ import annotations

import dataclasses
import fnmatch
import re
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from enum import StrEnum
from typing import Any

from mosaic.contracts.consent import field_at

# Packages announce a folder with bundles under this group: the value is an importable package
# that holds `bundles.toml`, a `NAME.txt` for each bundle, and `locks/`.
BUNDLES_GROUP = "mosaic.bundles"
JOINT = "+"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")


class Accelerator(StrEnum):
    """Which builds of torch and JAX a venv has."""

    CPU = "cpu"
    CUDA = "cuda"
    ROCM = "rocm"


class BundleKind(StrEnum):
    WORKER = "worker"
    ADD_ON = "add-on"


class VenvState(StrEnum):
    # All it needs is installed beside MOSAIC itself: no venv of its own is needed.
    PRESENT = "present"
    ABSENT = "absent"
    INSTALLING = "installing"
    INSTALLED = "installed"
    # Something in it is not what was installed; it is never repaired, but made again.
    BROKEN = "broken"
    # There is no lock of it for this Python, this machine or this accelerator.
    UNAVAILABLE = "unavailable"


class InstallPhase(StrEnum):
    WAITING = "waiting"  # for another install
    FETCHING = "fetching"
    BUILDING = "building"  # the venv, and packages that come as sources
    TESTING = "testing"  # what was installed is imported
    DONE = "done"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True)
class BundleRule:
    """Which bundle a run needs, told by a field of its worker's config.

    Workers list these in their capabilities; nobody else knows what their fields mean.
    """

    bundle: str
    # A dotted path in the worker's config; empty: every run needs it.
    field: str = ""
    # What the field's value may look like (`fnmatch`); truth values as JSON writes them.
    patterns: tuple[str, ...] = ("*",)
    # Where a program of another venv runs: the field of the config that gets its interpreter. A
    # config that sets the field itself needs no bundle for it. Empty: the worker's own venv.
    python_field: str = ""
    # Further fields and what they look like: all of `where` must hold, and none of `unless`.
    where: Mapping[str, str] = dataclasses.field(default_factory=dict)
    unless: Mapping[str, str] = dataclasses.field(default_factory=dict)
    # Where the worker itself runs beside MOSAIC, the program of `python_field` can do so as well:
    # its own venv is used when it is installed, and merely offered when it is not.
    is_optional: bool = False

    def holds(self, config: Mapping[str, Any]) -> bool:
        return (
            (not self.field or _is_like(config, self.field, self.patterns))
            and all(_is_like(config, name, (text,)) for name, text in self.where.items())
            and not any(_is_like(config, name, (text,)) for name, text in self.unless.items())
        )

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> BundleRule:
        """Unknown fields (of a newer worker) are ignored."""
        known = {item.name: data[item.name] for item in fields(cls) if item.name in data}
        if "patterns" in known:
            known["patterns"] = tuple(map(str, known["patterns"]))
        return cls(**known)


@dataclass(frozen=True)
class VenvNeed:
    """A venv that a run needs: a bundle, or several joined."""

    name: str
    # The field of the worker's config that gets its interpreter; empty: it runs the worker itself.
    python_field: str = ""
    # Whether it is not needed where the worker itself runs beside MOSAIC.
    is_optional: bool = False


def needed_venvs(rules: Iterable[BundleRule], config: Mapping[str, Any]) -> tuple[VenvNeed, ...]:
    """At most one for the worker itself, first, and one for each program it has run elsewhere."""
    chosen: dict[str, list[BundleRule]] = {}
    for rule in rules:
        # Whoever names an interpreter has prepared it.
        is_given = bool(rule.python_field) and bool(field_at(config, rule.python_field))
        if not is_given and rule.holds(config):
            chosen.setdefault(rule.python_field, []).append(rule)
    return tuple(
        VenvNeed(
            joined_name(rule.bundle for rule in rules),
            python_field,
            all(rule.is_optional for rule in rules),
        )
        for python_field, rules in sorted(chosen.items())
    )


@dataclass(frozen=True)
class InstallRequest:
    """What somebody wants installed, and how much of it they agreed to."""

    name: str  # of a bundle, or of several joined
    # None: what suits this machine.
    accelerator: Accelerator | None = None
    # A folder with wheels; then nothing is fetched from anywhere else.
    from_folder: str = ""
    # More than this is not fetched; None: nobody was asked.
    most_bytes: int | None = None


@dataclass(frozen=True)
class InstallProgress:
    phase: InstallPhase
    # What is being fetched, built or imported at this moment.
    item: str = ""
    done_bytes: int = 0  # of what is fetched
    total_bytes: int = 0
    # Of the whole install, between 0 and 1; never goes back.
    fraction: float = 0.0
    # Of an install that failed: what happened, and what to do.
    message: str = ""
    hint: str = ""

    @property
    def is_over(self) -> bool:
        return self.phase in (InstallPhase.DONE, InstallPhase.FAILED, InstallPhase.CANCELED)

    @property
    def percent(self) -> str:
        return f"{self.fraction:.0%}".replace("%", " %")

    def to_dict(self) -> dict[str, Any]:
        return {**asdict(self), "phase": self.phase.value}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> InstallProgress:
        known = {item.name: data[item.name] for item in fields(cls) if item.name in data}
        return cls(**{**known, "phase": InstallPhase(known["phase"])})


@dataclass(frozen=True)
class VenvInfo:
    """A bundle, or several joined, as people see it: what it is, and what became of it here."""

    name: str  # "learner" or "learner+atari"
    title: str
    about: str  # why somebody would want it
    state: VenvState
    accelerator: Accelerator = Accelerator.CPU
    python: str = ""  # the version of Python it has, or would have
    lock_hash: str = ""
    path: str = ""
    fetch_bytes: int = 0  # to be fetched at most: what is in a cache is not fetched again
    disk_bytes: int = 0  # what it holds, or an estimate where it is absent
    shared_bytes: int = 0  # of these, in files that other venvs hold as well
    installed_at: float | None = None
    used_at: float | None = None
    # Why it is broken or unavailable, and what to do.
    problem: str = ""
    hint: str = ""
    # Why it is this build, where it is not the one that suits the machine: a sentence.
    note: str = ""
    progress: InstallProgress | None = None

    def to_dict(self) -> dict[str, Any]:
        data = asdict(self)
        data["progress"] = self.progress.to_dict() if self.progress else None
        return data

    @property
    def is_usable(self) -> bool:
        """Whether what needs it can run at this moment."""
        return self.state in (VenvState.PRESENT, VenvState.INSTALLED)


def joined_name(bundles: Iterable[str]) -> str:
    """The worker's first, then its add-ons in the order of the alphabet."""
    first, *others = dict.fromkeys(bundles)
    return JOINT.join([first, *sorted(others)])


def holds(name: str, needed: str) -> bool:
    """Whether a venv of this name has all that one of the other name has: the same worker's
    packages, and those of each of its add-ons."""
    names, wanted = split_name(name), split_name(needed)
    return bool(wanted) and names[:1] == wanted[:1] and set(wanted) <= set(names)


def split_name(name: str) -> tuple[str, ...]:
    """Empty when it cannot be the name of anything: names become parts of paths."""
    parts = tuple(name.split(JOINT))
    return parts if all(_NAME.fullmatch(part) for part in parts) else ()


def _is_like(config: Mapping[str, Any], name: str, patterns: Iterable[str]) -> bool:
    value = field_at(config, name)
    text = _text(value)
    return value is not None and any(fnmatch.fnmatchcase(text, pattern) for pattern in patterns)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value)
