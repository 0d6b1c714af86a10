"""The TrainRunConfig of a training, or of any worker that is told its own settings. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from mosaic.contracts.learner import TrainRequest
from mosaic.errors import ConfigError

if TYPE_CHECKING:
    from mosaic.contracts.capabilities import WorkerCapabilities
    from mosaic.contracts.catalogue import AlgorithmInfo, EnvironmentInfo, Recipe

_MAX_SEEDS = 1000
_PLAIN_KINDS = ("discrete", "continuous", "vector", "image")


@dataclass(frozen=True)
class Training:
    """What a person wants trained; whatever is left out, the algorithm knows by itself."""

    algorithm: AlgorithmInfo
    env_id: str = ""
    total_timesteps: int | None = None
    seed: int | None = None
    is_one_of_several: bool = False  # seeds that belong together, as a group
    # Of the algorithm, those that shall not have their default; these three may be among them.
    parameters: Mapping[str, Any] = field(default_factory=dict)
    extras: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    cpus: int | None = None
    memory_mb: int | None = None
    use_gpu: bool = False
    priority: int | None = None
    retries: int = 0
    environment: Mapping[str, str] = field(default_factory=dict)
    recipe: str = ""  # the name of published parameters for this environment, below the given ones
    # By which telemetry and the list of runs know them; empty: as the daemon calls them.
    agent_id: str = ""
    worker_id: str = ""

    def __post_init__(self) -> None:
        rest = dict(self.parameters)
        given = {name: rest.pop(name, None) for name in ("env_id", "total_timesteps", "seed")}
        object.__setattr__(self, "parameters", rest)
        if not self.env_id:
            env_id = given["env_id"] or self.algorithm.default_env_id
            object.__setattr__(self, "env_id", env_id)
        recipe = find_recipe(self.algorithm, self.env_id, self.recipe) if self.recipe else None
        if recipe is not None:
            object.__setattr__(self, "parameters", {**recipe.parameters, **rest})
        if self.total_timesteps is None and given["total_timesteps"] is None and recipe:
            object.__setattr__(self, "total_timesteps", recipe.total_timesteps)
        if self.total_timesteps is None:
            default = self.algorithm.parameters.get("total_timesteps", {}).get("default")
            steps = given["total_timesteps"]
            object.__setattr__(self, "total_timesteps", default if steps is None else steps)
        if self.seed is None:
            object.__setattr__(self, "seed", given["seed"])
        if self.total_timesteps is not None and self.total_timesteps < 1:
            raise ConfigError(
                f"--total-timesteps is {self.total_timesteps}",
                hint="give the number of environment steps to train, 1 or more",
                field="total_timesteps",
            )

    @property
    def group(self) -> str:
        """What runs that differ in their seed have in common."""
        return self.name or "-".join(part for part in (self.algorithm.name, self.env_id) if part)


def train_document(training: Training) -> dict[str, Any]:
    """The TrainRunConfig of one training."""
    algorithm, seed = training.algorithm, training.seed
    document = run_document(
        algorithm.worker,
        training.group if seed is None else f"{training.group}-seed{seed}",
        training_settings(training),
        cpus=training.cpus or algorithm.cpus,
        memory_mb=training.memory_mb,
        expected_memory_mb=algorithm.memory_mb,
        gpus=int(training.use_gpu),
        environment=training.environment,
        metadata={"group": label(training.group)} if training.is_one_of_several else None,
    )
    names = {"agent_id": training.agent_id, "worker_id": training.worker_id}
    document["metadata"]["worker"].update({key: name for key, name in names.items() if name})
    if training.recipe:
        document["metadata"]["recipe"] = training.recipe
    if training.priority is not None:
        document["priority"] = training.priority
    if training.retries > 0:
        document["retry"] = {"max_attempts": training.retries + 1}
    return document


def find_recipe(algorithm: AlgorithmInfo, env_id: str, name: str) -> Recipe:
    """Raises ConfigError with what there is."""
    known = algorithm.recipes_for(env_id)
    found = next((recipe for recipe in known if recipe.name == name), None)
    if found is not None:
        return found
    elsewhere = sorted({recipe.env_id for recipe in algorithm.recipes if recipe.name == name})
    names = ", ".join(recipe.name for recipe in known)
    hint = f"there is: {names}" if known else "leave --recipe out: the defaults will do"
    if not known and elsewhere:
        hint = f"{algorithm.name} has one for {', '.join(elsewhere[:6])}"
    raise ConfigError(
        f"{algorithm.name} has no recipe {name[:40]!r} for {env_id}", hint=hint, field="recipe"
    )


def usual_timesteps(
    algorithm: AlgorithmInfo, env_id: str, environments: Iterable[EnvironmentInfo]
) -> int | None:
    """How long a training is unless somebody says it: Pong is not CartPole.

    An algorithm that is made for such environments knows by itself.
    """
    own = algorithm.parameters.get("total_timesteps", {}).get("default")
    usual_env = algorithm.default_env_id or algorithm.parameters.get("env_id", {}).get("default")
    known = {item.id: item for item in environments if item.id in (env_id, usual_env)}
    environment, home = known.get(env_id), known.get(str(usual_env))
    if environment is None or environment.usual_timesteps is None:
        return own
    if home is not None and home.family == environment.family and home.id != env_id:
        return max(own or 0, environment.usual_timesteps)
    return own if home is environment else environment.usual_timesteps


def training_settings(training: Training) -> dict[str, Any]:
    """The worker's config."""
    return TrainRequest(
        algo=training.algorithm.name,
        env_id=training.env_id or None,
        total_timesteps=training.total_timesteps,
        seed=training.seed,
        parameters=training.parameters,
        use_gpu=training.use_gpu,
        extras={**training.algorithm.extras, **training.extras},
    ).settings()


class SpaceMismatch(NamedTuple):
    """Spaces that an algorithm cannot handle."""

    what: str  # "actions" or "observations"
    present: str
    handled: tuple[str, ...]


def space_mismatch(algorithm: AlgorithmInfo, environment: EnvironmentInfo) -> SpaceMismatch | None:
    """What keeps the algorithm from training there, as far as the catalogue can tell."""
    for kind, handled, what in (
        (environment.action_kind, algorithm.action_spaces, "actions"),
        (environment.observation_kind, algorithm.observation_spaces, "observations"),
    ):
        if kind in _PLAIN_KINDS and handled and kind not in handled:
            return SpaceMismatch(what, kind, handled)
    return None


def check_fit(
    algorithm: AlgorithmInfo, env_id: str, environments: Iterable[EnvironmentInfo]
) -> None:
    """Refuses an environment of the catalogue that the algorithm cannot handle.

    What the catalogue does not know is left to the worker, which looks at the real spaces.
    """
    known = next((item for item in environments if item.id == env_id), None)
    found = None if known is None else space_mismatch(algorithm, known)
    if found is not None:
        raise ConfigError(
            f"{algorithm.name} cannot train on {env_id}: it needs {' or '.join(found.handled)} "
            f"{found.what}, and these are {found.present}",
            hint="`mosaic algos` shows which algorithm takes which spaces",
            field="algo",
        )


def label(text: str) -> str:
    """Without what a run's name may not hold."""
    return re.sub(r"(?:[^A-Za-z0-9_.-]|\.{2,})+", "-", text)[:120]


def run_document(
    worker: str,
    name: str,
    settings: dict[str, Any],
    *,
    cpus: int,
    memory_mb: int | None = None,
    expected_memory_mb: int | None = None,
    gpus: int = 0,
    environment: Mapping[str, str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Without `memory_mb` there is no limit; the queue then sets `expected_memory_mb` aside."""
    return {
        "run_name": label(name),
        "entry_point": worker,
        "arguments": [],
        "environment": dict(environment or {}),
        "resources": {
            "cpus": cpus,
            **memory_request(memory_mb, expected_memory_mb),
            "gpus": {"requested": gpus, "mandatory": gpus > 0},
        },
        "artifacts": {},
        "metadata": {**(metadata or {}), "worker": {"config": settings}},
    }


def memory_request(limit_mb: int | None, expected_mb: int | None = None) -> dict[str, int]:
    """Of a TrainRunConfig's resources; nothing where the worker's own estimate will do."""
    if limit_mb is not None:
        return {"memory_mb": limit_mb}
    return {} if expected_mb is None else {"expected_memory_mb": expected_mb}


def parse_seeds(text: str) -> list[int]:
    """`1..5`, `1,4,9` or both joined by commas."""
    seeds: list[int] = []
    for part in text.split(","):
        first, dots, last = part.strip().partition("..")
        try:
            if dots and int(last) - int(first) >= _MAX_SEEDS:
                raise ConfigError(f"--seeds {text[:80]} are more than {_MAX_SEEDS}", field="seeds")
            seeds += range(int(first), int(last) + 1) if dots else [int(first)]
        except ValueError:
            raise ConfigError(
                f"--seeds {text[:80]!r} cannot be read", hint="write 1..5 or 1,4,9", field="seeds"
            ) from None
    if not seeds or min(seeds) < 0 or len(set(seeds)) != len(seeds) or len(seeds) > _MAX_SEEDS:
        raise ConfigError(
            f"--seeds {text[:80]!r} must be different numbers, 0 or more",
            hint="write 1..5 or 1,4,9",
            field="seeds",
        )
    return seeds


@dataclass(frozen=True)
class WorkerRun:
    """None is whatever the worker says it needs; of memory, as much as it takes."""

    worker: str
    capabilities: WorkerCapabilities
    settings: Mapping[str, Any] = field(default_factory=dict)
    name: str = ""
    cpus: int | None = None
    memory_mb: int | None = None
    gpus: int | None = None
    priority: int | None = None
    retries: int | None = None
    max_steps: int | None = None
    max_duration_s: int | None = None
    environment: Mapping[str, str] = field(default_factory=dict)


def worker_document(run: WorkerRun) -> dict[str, Any]:
    capabilities = run.capabilities
    gpus = run.gpus if run.gpus is not None else int(capabilities.requires_gpu)
    schedule = {"max_steps": run.max_steps, "max_duration_seconds": run.max_duration_s}
    document: dict[str, Any] = {
        "run_name": run.name or default_name(run.worker, run.settings),
        "entry_point": run.worker,
        "arguments": [],
        "environment": dict(run.environment),
        "resources": {
            "cpus": run.cpus if run.cpus is not None else capabilities.cpu_cores,
            **memory_request(run.memory_mb),
            "gpus": {"requested": gpus, "mandatory": gpus > 0},
        },
        "artifacts": {},
        "metadata": {"worker": {"config": dict(run.settings)}},
        "schedule": {name: value for name, value in schedule.items() if value is not None},
    }
    if run.priority is not None:
        document["priority"] = run.priority
    if run.retries is not None:
        if run.retries < 0:
            raise ConfigError("--retries is negative", hint="0 means no second attempt")
        document["retry"] = {"max_attempts": run.retries + 1}
    return document


def default_name(worker: str, settings: Mapping[str, Any]) -> str:
    """Worker, environment and seed, as far as known."""
    known = [worker, settings.get("env_id"), settings.get("seed")]
    return label("-".join(str(part) for part in known if part is not None))
