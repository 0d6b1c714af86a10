"""Checkpoints as cards: what is known about each, and what can be done with it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path, PurePosixPath

from mosaic.contracts.learner import takes_warm_start, worker_settings
from mosaic.contracts.manifest import AnalyticsManifest, CheckpointEntry
from mosaic.contracts.metrics import EPISODIC_RETURN, headline_of, is_one_episode
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.errors import CorruptStoreError
from mosaic.front.human import age, count, decimal, size
from mosaic.front.references import policy_loaders
from mosaic.gui.state.targets import PolicyTarget
from mosaic.gui.tabs.model import object_in

# How many cards of all runs are made at once; the rest on request.
PAGE = 12


class HashStatus(StrEnum):
    """What is known about the bytes of a checkpoint."""

    UNCHECKED = "not checked"
    CHECKING = "checking…"
    VERIFIED = "verified"
    DAMAGED = "damaged"
    MISSING = "missing"
    ELSEWHERE = "on another machine"
    NO_HASH = "no hash recorded"


@dataclass(frozen=True)
class Card:
    path: Path
    title: str
    worker: str
    env_id: str
    algo: str
    step: int | None = None
    metric: float | None = None
    sha256: str = ""
    is_best: bool = False
    is_final: bool = False
    run: RunRecord | None = None
    folder: Path | None = None  # of its run
    is_leading: bool = False  # of the most recent run that succeeded

    @property
    def key(self) -> str:
        return str(self.path)

    @property
    def group(self) -> str:
        parts = (self.env_id or "unknown environment", self.algo)
        return " · ".join(part for part in parts if part)

    @property
    def target(self) -> PolicyTarget:
        moment = ", ".join(part for part in (*self.badges, self.step_text) if part)
        return PolicyTarget(self.path, self.worker, self.env_id, self.algo, self.run, moment)

    @property
    def badges(self) -> tuple[str, ...]:
        return tuple(
            word for word, is_so in (("best", self.is_best), ("final", self.is_final)) if is_so
        )

    @property
    def step_text(self) -> str:
        return "" if self.step is None else f"step {count(self.step)}"

    @property
    def return_text(self) -> str:
        return "return –" if self.metric is None else f"return {decimal(self.metric)}"


@dataclass(frozen=True)
class FileFacts:
    """What the file system says; `status` is UNCHECKED for a file that is there."""

    status: HashStatus
    size_bytes: int | None = None
    modified_at: float | None = None


@dataclass(frozen=True)
class CardActions:
    """Why something cannot be done with a checkpoint; empty where it can."""

    evaluate: str = ""
    deploy: str = ""
    resume: str = ""
    # The environment to switch to, where that is all that stands in the way of deploying.
    switch_to: str = ""
    # Whether its worker can continue training at all; if not, the action is not shown.
    has_resume: bool = True
    has_warm_start: bool = False


def has_checkpoints_tab(record: RunRecord) -> bool:
    """There are some, or its worker may save some."""
    return bool(
        record.checkpoint_uri
        or record.manifest.get("checkpoints")
        or record.capabilities.get("supports_checkpointing")
    )


def cards_of_run(record: RunRecord) -> tuple[tuple[Card, ...], str]:
    """All of a run, the newest first, and what is wrong with their list."""
    folder = Path(record.paths.get("run_directory", ""))
    problem = ""
    entries: Sequence[CheckpointEntry] = ()
    if record.manifest:
        try:
            entries = AnalyticsManifest.from_dict(record.manifest).checkpoints
        except CorruptStoreError as error:
            problem = f"The list of checkpoints is damaged: {error.message}"
    if not entries and record.checkpoint_uri:
        entries = (CheckpointEntry(record.checkpoint_uri, record.progress.steps),)
    cards = [
        _card(record, entry, folder) for entry in entries if is_within(PurePosixPath(entry.path))
    ]
    cards.sort(key=lambda card: (card.step or 0, card.is_final), reverse=True)
    return tuple(cards), problem


def _card(record: RunRecord, entry: CheckpointEntry, folder: Path) -> Card:
    settings, metadata = worker_settings(record.config), object_in(record.manifest, "metadata")
    algo = settings.get("algo") or metadata.get("algo") or ""
    env_id = record.env_id or settings.get("env_id") or metadata.get("env_id") or ""
    return Card(
        path=folder / entry.path,
        title=record.run_name,
        worker=record.worker,
        env_id=str(env_id),
        algo=str(algo),
        step=entry.step,
        metric=entry.metric,
        sha256=entry.sha256,
        is_best=entry.is_best,
        is_final=entry.is_final,
        run=record,
        folder=folder,
    )


def is_within(path: PurePosixPath) -> bool:
    """A manifest may come out of an archive: nothing in it leads out of the run's folder."""
    return not path.is_absolute() and ".." not in path.parts and path.parts != ()


def representative(cards: Sequence[Card]) -> Card | None:
    """The one that stands for its run: the best, else the newest."""
    return next((card for card in cards if card.is_best), cards[0] if cards else None)


def with_checkpoints(runs: Iterable[RunRecord]) -> list[RunRecord]:
    return [record for record in runs if record.checkpoint_uri]


def latest_success(runs: Iterable[RunRecord]) -> str:
    """The most recent run that succeeded and left a checkpoint; `runs` newest first."""
    return next(
        (
            record.run_id
            for record in runs
            if record.outcome is Outcome.SUCCEEDED and record.checkpoint_uri
        ),
        "",
    )


def grouped(cards: Iterable[Card]) -> list[tuple[str, list[Card]]]:
    """By environment and algorithm, in the order in which they first appear."""
    groups: dict[str, list[Card]] = {}
    for card in cards:
        groups.setdefault(card.group, []).append(card)
    return list(groups.items())


def with_worker(card: Card, workers: Sequence[WorkerInfo]) -> Card:
    """A file that names no worker is for the one that loads policies, where there is only one."""
    if card.worker:
        return card
    able = policy_loaders(workers, card.path)
    return replace(card, worker=able[0]) if len(able) == 1 else card


def actions_of(
    card: Card, status: HashStatus, worker: WorkerInfo | None, chosen_env: str
) -> CardActions:
    capabilities = worker.capabilities if worker is not None else None
    if status is HashStatus.MISSING:
        return _none("its file is gone")
    if status is HashStatus.DAMAGED:
        return _none("its file is not what was saved")
    if capabilities is None or not capabilities.supports_policy_load:
        name = card.worker or "no worker"
        return _none(f"{name} is not here to load it" if capabilities is None else _NO_POLICIES)
    is_running = card.run is not None and not card.run.is_over
    resume = "its run is still going on" if is_running else ""
    is_other = bool(card.env_id and chosen_env and card.env_id != chosen_env)
    return CardActions(
        deploy=f"made for {card.env_id}, but {chosen_env} is chosen" if is_other else "",
        resume=resume,
        switch_to=card.env_id if is_other else "",
        has_resume=capabilities.supports_resume,
        has_warm_start=takes_warm_start(capabilities.config_schema),
    )


_NO_POLICIES = "its worker does not load policies"


def _none(reason: str) -> CardActions:
    return CardActions(reason, reason, reason)


def facts_text(card: Card, facts: FileFacts | None, now: float) -> str:
    """When it was saved, and how large it is."""
    if facts is None:
        return ""
    parts = []
    if facts.modified_at is not None:
        parts.append(age(facts.modified_at, now))
    if facts.size_bytes is not None:
        parts.append(size(facts.size_bytes))
    return " · ".join(parts)


def return_metric(names: Iterable[str]) -> str:
    """Which metric the small curve on a card shows; empty: none is a return."""
    returns = [name for name in names if headline_of(name) == EPISODIC_RETURN]
    return next((name for name in returns if is_one_episode(name)), returns[0] if returns else "")
