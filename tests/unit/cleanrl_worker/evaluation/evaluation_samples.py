"""Checkpoints with random weights, and a reporter that remembers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch

from cleanrl_worker.agents.mlp import DiscreteTowers
from cleanrl_worker.kit.checkpoints.model_file import ModelFile
from cleanrl_worker.kit.checkpoints.store import CheckpointStore


@dataclass
class RememberingReporter:
    stop: Callable[[], bool] = lambda: False
    episodes: list[dict[str, Any]] = field(default_factory=list)
    metrics: dict[tuple[str, int], float] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    steps: int = 0

    def metric(self, name: str, value: float, step: int) -> None:
        self.metrics[name, step] = value

    def episode(self, **facts: Any) -> None:
        self.episodes.append(facts)

    def progress(self, *, steps: int, total_steps: int | None = None) -> None:
        self.steps = steps

    def should_stop(self) -> bool:
        return self.stop()

    def flush(self) -> None: ...

    def checkpoint_saved(self, *_: Any, **__: Any) -> None:
        raise AssertionError("an evaluation saves no checkpoint")

    def checkpoint_loaded(self, path: Path, step: int) -> None:
        pass

    def note(self, text: str) -> None:
        self.notes.append(text)


def save_policy(
    folder: Path,
    *modules: torch.nn.Module,
    algorithm: str = "ppo",
    env_id: str = "CartPole-v1",
    arguments: Mapping[str, Any] | None = None,
    states: Mapping[str, Any] | None = None,
) -> Path:
    description = {
        "algorithm": algorithm,
        "env_id": env_id,
        "seed": 3,
        "arguments": dict(arguments or {}),
    }
    store = CheckpointStore(folder, algorithm, description=description)
    return store.save(1000, ModelFile(*modules).payload(), states or {}).path


def cart_pole_policy(folder: Path) -> Path:
    torch.manual_seed(0)
    agent = DiscreteTowers(4, 2)
    with torch.no_grad():
        agent.actor[-1].get_parameter("weight").mul_(100.0)  # not quite sure, not quite undecided
    return save_policy(folder, agent)
