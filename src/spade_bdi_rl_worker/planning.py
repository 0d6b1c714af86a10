"""What a config means for a training: defaults and checkpoints looked up, mistakes named."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.worker import ConfigError
from spade_bdi_rl_worker.catalogue import LEARNING
from spade_bdi_rl_worker.checkpoint_check import refuse_other_family
from spade_bdi_rl_worker.checkpoints import (
    Checkpoint,
    Trained,
    load_checkpoint,
    own_checkpoint,
    refuse_other_algorithm,
)
from spade_bdi_rl_worker.config import BdiWorkerConfig
from spade_bdi_rl_worker.options import RESUME

if TYPE_CHECKING:
    from spade_bdi_rl_worker.learning.settings import LearningSettings
    from spade_bdi_rl_worker.learning.world import World

_DEFAULT_SEED = 1


@dataclass(frozen=True)
class TrainingPlan:
    trained: Trained  # as it will be: step and episodes are those it goes on from
    checkpoint: Checkpoint | None = None
    warm_start: Checkpoint | None = None

    def settings(self) -> LearningSettings:
        from spade_bdi_rl_worker.learning.settings import LearningSettings

        return LearningSettings(algorithm=self.trained.algo, **self.trained.parameters)  # type: ignore[arg-type]

    def make_world(self) -> World:
        from spade_bdi_rl_worker.learning.world import World

        trained = self.trained
        return World.make(trained.env_id, trained.env_kwargs, bins=trained.bins)

    def facts(self) -> dict[str, Any]:
        """What is known of the run beyond its config; part of `run_started` and the manifest."""
        trained = self.trained
        found: dict[str, Any] = {
            "algo": trained.algo,
            "env_id": trained.env_id,
            "seed": trained.seed,
            "total_steps": trained.total_timesteps,
            "total_timesteps": trained.total_timesteps,
        }
        return found if trained.lineage is None else {**found, "lineage": trained.lineage}


def plan_training(
    config: BdiWorkerConfig, directory: Path | None = None, attempt: int = 1
) -> TrainingPlan:
    """An attempt after the first goes on from the run's own newest checkpoint."""
    plan = _resumed(config) if config.mode == RESUME else _fresh(config)
    if attempt > 1 and directory is not None:
        own = own_checkpoint(directory)
        if own is not None:
            return replace(plan, checkpoint=own, trained=_at(plan.trained, own.trained))
    return plan


def _fresh(config: BdiWorkerConfig) -> TrainingPlan:
    given = config.parameters
    seed = config.own("seed")
    trained = Trained(
        algo=config.algo or "",
        env_id=config.own("env_id"),
        seed=_DEFAULT_SEED if seed is None else seed,
        total_timesteps=config.own("total_timesteps"),
        step=0,
        episodes=0,
        parameters=_learning(given),
        env_kwargs=dict(given.get("env_kwargs") or {}),
        bins=given.get("bins"),
    )
    path = config.extra("warm_start_path")
    if not path:
        return TrainingPlan(trained)
    start = load_checkpoint(Path(path))
    refuse_other_family(start.trained, trained.env_id)
    lineage = {**lineage_of(start), "kind": "warm_start"}
    return TrainingPlan(replace(trained, lineage=lineage), warm_start=start)


def _resumed(config: BdiWorkerConfig) -> TrainingPlan:
    checkpoint = load_checkpoint(Path(config.extras["checkpoint_path"]))
    old, given = checkpoint.trained, config.parameters
    refuse_other_algorithm(old, config.algo, checkpoint.path, "algo")
    for name, before in (
        ("env_id", old.env_id),
        ("seed", old.seed),
        ("env_kwargs", old.env_kwargs),
        ("bins", old.bins),
    ):
        asked = config.own(name) if name in ("env_id", "seed") else given.get(name)
        if asked is not None and asked != before:
            raise ConfigError(
                f"'{name}': the checkpoint was trained with {before!r}, not with {asked!r}",
                hint=f"leave {name} out, or begin a training with --warm-start",
                field=name,
            )
    total = config.own("total_timesteps") or old.total_timesteps
    if total <= old.step:
        reached = "had reached its end" if total == old.total_timesteps else "is already"
        raise ConfigError(
            f"'total_timesteps': the training {reached} at step {old.step:,}",
            hint=f"give --total-timesteps, the new total, of more than {old.step}",
            field="total_timesteps",
        )
    trained = replace(
        old,
        total_timesteps=total,
        parameters={**old.parameters, **_learning(given)},
        lineage=lineage_of(checkpoint),
    )
    return TrainingPlan(trained, checkpoint=checkpoint)


def _at(planned: Trained, own: Trained) -> Trained:
    return replace(planned, step=own.step, episodes=own.episodes)


def _learning(given: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in given.items() if name in LEARNING and value is not None}


def lineage_of(checkpoint: Checkpoint) -> dict[str, Any]:
    """Which training this one goes on from, and where."""
    with checkpoint.path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    return {
        "parent_run": checkpoint.trained.run_id,
        "parent_step": checkpoint.trained.step,
        "checkpoint_sha256": sha256,
    }
