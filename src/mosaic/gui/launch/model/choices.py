"""What a person can choose from: who acts, in which environment, with which checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

from mosaic.contracts.bundles import VenvInfo, VenvState
from mosaic.contracts.catalogue import EnvironmentInfo
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.front.bundle_words import fetch_words, state_words
from mosaic.front.human import age, decimal, size
from mosaic.front.known_workers import KnownWorker
from mosaic.gui.state.bundles_state import BundlesState
from mosaic.gui.state.runs_state import RunsState
from mosaic.gui.state.targets import Mode
from mosaic.gui.state.worker_bundles import bundle_of

HUMAN = "human"
_READY, _NOT_READY, _BROKEN, _ABSENT = "ready", "not ready", "unusable", "not installed"


@dataclass(frozen=True)
class RosterEntry:
    name: str
    title: str
    word: str
    is_ready: bool
    about: str = ""
    # Each check in a line, with what to do where it failed.
    checks: tuple[str, ...] = ()
    # The command that would make it ready; empty when there is none, or nothing to do.
    fix: str = ""
    # Of one that no package offers: what that takes.
    needs: str = ""

    @property
    def is_installed(self) -> bool:
        return not self.needs

    @property
    def tooltip(self) -> str:
        needs = f"Needs {self.needs}" if self.needs else ""
        lines = [line for line in (self.about, *self.checks, needs) if line]
        return "\n".join(lines) or self.title


def roster(
    workers: Iterable[WorkerInfo],
    mode: Mode,
    known: Sequence[KnownWorker] = (),
    bundles: BundlesState | None = None,
) -> list[RosterEntry]:
    """A person first, then the workers that everybody knows, installed or not, then all others."""
    entry_of = partial(_entry, bundles=bundles or BundlesState())
    found = {worker.name: worker for worker in workers}
    if mode is Mode.HYBRID:
        able = {name: worker for name, worker in found.items() if can_load(worker)}
        ordered = _in_order(able, known, entry_of)
        return [entry for entry in ordered if entry.is_installed]
    person = RosterEntry(HUMAN, "Human-Only", _READY, True, "You play, with the keyboard")
    return [person, *_in_order(found, known, entry_of)] if found else []


def _in_order(
    workers: Mapping[str, WorkerInfo],
    known: Sequence[KnownWorker],
    entry_of: Callable[[WorkerInfo], RosterEntry],
) -> list[RosterEntry]:
    rest = dict(workers)
    entries = []
    for item in known:
        name = next((name for name in item.ids if name in rest), None)
        if name is not None:
            entries.append(entry_of(rest.pop(name)))
        else:
            entries.append(
                RosterEntry(item.ids[0], item.title, _ABSENT, False, item.about, needs=item.needs)
            )
    return [*entries, *map(entry_of, rest.values())]


def can_load(worker: WorkerInfo) -> bool:
    return worker.capabilities is not None and worker.capabilities.supports_policy_load


def runs_commands(worker: WorkerInfo | None) -> bool:
    """Whether its work is a command of the user's."""
    return bool(worker and worker.capabilities and worker.capabilities.runs_commands)


def script_worker(workers: Iterable[WorkerInfo]) -> str:
    """The one that runs scripts; empty where none is installed."""
    return next((worker.name for worker in workers if runs_commands(worker)), "")


def _entry(worker: WorkerInfo, bundles: BundlesState) -> RosterEntry:
    capabilities = worker.capabilities
    title = capabilities.metadata.name if capabilities else worker.name
    if worker.error:
        return RosterEntry(worker.name, title, _BROKEN, False, worker.error)
    if (info := bundle_of(worker, bundles)) is not None:
        return _bundled_entry(worker, title, info)
    missing = worker.missing
    return RosterEntry(
        worker.name,
        title,
        _READY if worker.is_ready else _NOT_READY,
        worker.is_ready,
        capabilities.metadata.description if capabilities else "",
        tuple(
            f"✓ {item.check}" if item.ok else f"✗ {item.check}: {item.message}. {item.fix}"
            for item in worker.readiness
        ),
        missing.fix if missing else "",
    )


# Of a worker whose packages are in a bundle. What is absent is offered with what is started.
_BUNDLE_WORDS = {
    VenvState.INSTALLED: _READY,
    VenvState.ABSENT: "to install",
    VenvState.INSTALLING: "installing",
    VenvState.BROKEN: "to install",
}


def _bundled_entry(worker: WorkerInfo, title: str, info: VenvInfo) -> RosterEntry:
    description = worker.capabilities.metadata.description if worker.capabilities else ""
    to_fetch = f" ({size(info.fetch_bytes)} to fetch)" if fetch_words(info) else ""
    told = f"{info.title or info.name}: {state_words(info)}{to_fetch}"
    word = _BUNDLE_WORDS.get(info.state, _NOT_READY)
    return RosterEntry(worker.name, title, word, info.is_usable, description, (told,))


# The family of an environment that no catalogue knows.
CUSTOM = ""
CUSTOM_TITLE = "Custom id…"


class FamilyChoice(NamedTuple):
    name: str
    title: str
    ids: tuple[str, ...]


def family_choices(environments: Iterable[EnvironmentInfo]) -> list[FamilyChoice]:
    """In the order of the catalogue, and last the ids that are in none."""
    ids: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for item in environments:
        ids.setdefault(item.family, []).append(item.id)
        titles[item.family] = item.family_title or item.family.replace("_", " ").capitalize()
    found = [FamilyChoice(name, titles[name], tuple(listed)) for name, listed in ids.items()]
    return [*found, FamilyChoice(CUSTOM, CUSTOM_TITLE, ())]


def family_of(env_id: str, choices: Sequence[FamilyChoice]) -> str:
    return next((choice.name for choice in choices if env_id in choice.ids), CUSTOM)


def typed_id(text: str, ids: Sequence[str]) -> str:
    """What somebody means by a text: an id, the first one that holds it, or an id of their own."""
    wanted = text.strip()
    lower = wanted.lower()
    exact = next((item for item in ids if item.lower() == lower), None)
    if exact is not None:
        return exact
    return next((item for item in ids if lower in item.lower()), wanted)


def about(environment: EnvironmentInfo | None, env_id: str) -> str:
    """The short game info: spaces, length and what counts as solved."""
    if environment is None:
        return "Not in the catalogue: the worker will look at it" if env_id else ""
    parts = []
    if environment.reward_threshold is not None:
        parts.append(f"solved at {decimal(environment.reward_threshold)}")
    if environment.max_episode_steps:
        parts.append(f"{environment.max_episode_steps:,} steps at most")
    parts += [f"actions {environment.action_space}", f"observes {environment.observation_space}"]
    return " · ".join(parts)


_MOST = 200  # nobody scrolls further; the Checkpoints tab has them all


class PolicyChoice(NamedTuple):
    run_id: str
    text: str
    detail: str
    env_id: str


def policy_choices(
    runs: RunsState, *, worker: str = "", env_id: str = "", now: float | None = None
) -> list[PolicyChoice]:
    """Of this worker, in this environment; empty is any."""
    found = []
    for record in runs.newest_first():
        is_wanted = worker in ("", record.worker) and env_id in ("", record.env_id)
        if not record.checkpoint_uri or not is_wanted:
            continue
        parts = [record.env_id] if record.env_id else []
        if record.progress.mean_return is not None:
            parts.append(f"return {decimal(record.progress.mean_return)}")
        parts.append(age(record.finished_at or record.updated_at, now))
        found.append(PolicyChoice(record.run_id, record.run_name, " · ".join(parts), record.env_id))
        if len(found) == _MOST:
            break
    return found
