"""The examples of the welcome page: what they start, and what stands in their way. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.front.policy_config import workers_for_play
from mosaic.front.training_config import Training, run_document, train_document
from mosaic.gui.state.bundles_state import BundlesState
from mosaic.gui.state.worker_bundles import can_start, has_bundles

_SCRIPTED = "heuristic"  # what workers call policies that somebody wrote by hand


class Start(StrEnum):
    TRAIN = "train"
    WATCH = "watch"  # a run of a scripted policy, and then its first episode
    PLAY = "play"


@dataclass(frozen=True)
class Example:
    start: Start
    icon: str
    title: str
    text: str
    button: str
    env_id: str
    algo: str = ""
    recipe: str = ""
    total_timesteps: int = 0  # of a learner that has no such recipe
    seed: int = 1
    episodes: int = 0
    # Modules the environment needs, and what installs them.
    modules: tuple[str, ...] = ()
    fix: str = ""


EXAMPLES = (
    Example(
        Start.TRAIN,
        "school-outline",
        "Train PPO on CartPole",
        "Within seconds it balances the pole so well that the task counts as solved. Watch the "
        "agent and its learning curve meanwhile.",
        "Train",
        "CartPole-v1",
        algo="ppo",
        recipe="tuned",
        total_timesteps=200_000,
    ),
    Example(
        Start.WATCH,
        "rocket-launch-outline",
        "Watch a scripted pilot land on the Moon",
        "Five episodes of LunarLander by a hand-written policy, then the replay of the first one.",
        "Watch",
        "LunarLander-v3",
        episodes=5,
        modules=("Box2D", "pygame"),
        fix='pip install "mosaic-rl[box2d]"',
    ),
    Example(
        Start.PLAY,
        "gamepad-variant-outline",
        "Play CartPole yourself",
        "Balance the pole with the arrow keys. Your episodes are recorded like those of any agent.",
        "Play",
        "CartPole-v1",
        modules=("gymnasium", "pygame"),
        fix='pip install "gymnasium[classic-control]"',
    ),
)


@dataclass(frozen=True)
class Surroundings:
    """What the examples find: from the daemon, the catalogue, and this Python."""

    workers: tuple[WorkerInfo, ...]
    algorithms: tuple[AlgorithmInfo, ...]
    is_online: bool
    python: str  # of this program
    is_importable: Callable[[str], bool]  # here
    bundles: BundlesState = field(default_factory=BundlesState)


def obstacle(example: Example, around: Surroundings) -> str:
    """Why it cannot be started now, and what to do about it; empty when it can."""
    match example.start:
        case Start.PLAY:
            # What a bundle holds is offered to be installed when it is missed.
            is_bundled = any(map(has_bundles, workers_for_play(around.workers)))
            return "" if is_bundled else _missing_modules(example, around)
        case Start.TRAIN | Start.WATCH:
            if not around.is_online:
                return "Waiting for the daemon."
            if not around.workers or (example.algo and not around.algorithms):
                return "Looking for workers."
            worker = _worker_of(example, around)
            if worker is None:
                what = f"the algorithm {example.algo}" if example.algo else "a scripted policy"
                return f"No installed worker has {what}. The README says what to install."
            if not can_start(worker, around.bundles):
                return _unready(worker)
            # Elsewhere only the worker itself can tell what it has, and of bundles the daemon.
            is_here = worker.python == around.python and not has_bundles(worker)
            return _missing_modules(example, around) if is_here else ""


def document(example: Example, around: Surroundings) -> dict[str, Any]:
    """The TrainRunConfig; only for one without obstacle."""
    if example.start is Start.TRAIN:
        algorithm = _algorithm(example, around.algorithms)
        assert algorithm is not None
        return training_of_example(example, algorithm)
    worker = _worker_of(example, around)
    assert worker is not None and worker.capabilities is not None
    settings = {
        "env_id": example.env_id,
        "policy": _SCRIPTED,
        "episodes": example.episodes,
        "seed": example.seed,
    }
    return run_document(
        worker.name,
        f"scripted-{example.env_id}",
        settings,
        cpus=worker.capabilities.cpu_cores,
    )


def training_of_example(example: Example, algorithm: AlgorithmInfo) -> dict[str, Any]:
    known = {recipe.name for recipe in algorithm.recipes_for(example.env_id)}
    recipe = example.recipe if example.recipe in known else ""
    steps = None if recipe else example.total_timesteps
    return train_document(
        Training(algorithm, example.env_id, steps, seed=example.seed, recipe=recipe)
    )


def _algorithm(example: Example, algorithms: Iterable[AlgorithmInfo]) -> AlgorithmInfo | None:
    named = (item for item in algorithms if item.name == example.algo and item.is_available)
    return next(named, None)


def _worker_of(example: Example, around: Surroundings) -> WorkerInfo | None:
    """By what it can do, never by its name."""
    if example.start is Start.TRAIN:
        algorithm = _algorithm(example, around.algorithms)
        wanted = algorithm.worker if algorithm else ""
        return next((item for item in around.workers if item.name == wanted), None)
    return next((item for item in around.workers if _has_scripted_policies(item)), None)


def _has_scripted_policies(worker: WorkerInfo) -> bool:
    if worker.capabilities is None:
        return False
    fields = worker.capabilities.config_schema.get("properties", {})
    return _SCRIPTED in fields.get("policy", {}).get("enum", ()) and "env_id" in fields


def _unready(worker: WorkerInfo) -> str:
    missing = worker.missing
    if worker.error or missing is None:
        return f"The worker {worker.name} cannot be used: {worker.error}"
    return f"The worker {worker.name} is not ready: {missing.message}. {missing.fix}"


def _missing_modules(example: Example, around: Surroundings) -> str:
    missing = [name for name in example.modules if not around.is_importable(name)]
    if not missing:
        return ""
    verb = "is" if len(missing) == 1 else "are"
    return f"{' and '.join(missing)} {verb} not installed: {example.fix}"
