"""What the centre and the form can be asked to show."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from mosaic.contracts.run_record import RunRecord


class Mode(StrEnum):
    HUMAN = "human"
    HYBRID = "hybrid"
    AGENT = "agent"


class Page(StrEnum):
    """Of the centre."""

    WELCOME = "welcome"
    LIVE = "live"
    PLAY = "play"
    REPLAY = "replay"
    COMPARE = "compare"
    TRASH = "trash"
    BUNDLES = "bundles"


class Operation(StrEnum):
    """What a form starts."""

    TRAIN = "train"
    EVALUATE = "evaluate"
    RESUME = "resume"
    SCRIPT = "script"


@dataclass(frozen=True)
class PolicyTarget:
    """A checkpoint, and whatever is known about it."""

    checkpoint: Path
    worker: str
    env_id: str = ""
    algo: str = ""
    run: RunRecord | None = None
    moment: str = ""  # which of the run's checkpoints it is, for people
    run_id: str = ""  # of a run whose record is not here yet

    @property
    def label(self) -> str:
        return self.run.run_name if self.run else self.checkpoint.stem

    @property
    def text(self) -> str:
        """Its name, and which of the run's checkpoints it is."""
        return f"{self.label} · {self.moment}" if self.moment else self.label


@dataclass(frozen=True)
class ReplayTarget:
    run_id: str
    episode: int | None = None  # None: the last one


@dataclass(frozen=True)
class PlayTarget:
    """An environment to play in; with a policy, that one can act as well."""

    env_id: str
    mode: Mode
    policy: PolicyTarget | None = None
    seed: int = 1


@dataclass(frozen=True)
class FormTarget:
    """A form, filled with the given values (by the names of its fields)."""

    operation: Operation
    policy: PolicyTarget | None = None
    values: dict[str, Any] = field(default_factory=dict)
