"""The TrainRunConfig of a training, an evaluation or a continued training. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from mosaic.cli.set_values import parse_settings
from mosaic.cli.submission import label
from mosaic.errors import ConfigError

if TYPE_CHECKING:
    from mosaic.contracts.algorithm_info import AlgorithmInfo
    from mosaic.contracts.environment_info import EnvironmentInfo

_MAX_SEEDS = 1000
_PLAIN_KINDS = ("discrete", "continuous", "vector", "image")


def training_settings(
    algorithm: AlgorithmInfo,
    env_id: str | None,
    *,
    total_timesteps: int | None,
    seed: int | None,
    pairs: Iterable[str],
    extras: dict[str, Any],
) -> dict[str, Any]:
    """The worker's config: parameters of the algorithm from `key=value` texts, the rest given."""
    schema = {"properties": algorithm.parameters, "additionalProperties": False}
    parameters = parse_settings(pairs, schema)
    chosen_env = env_id or parameters.pop("env_id", None) or algorithm.default_env_id
    given_steps = parameters.pop("total_timesteps", None)
    steps = given_steps if total_timesteps is None else total_timesteps
    if steps is None:
        steps = algorithm.parameters.get("total_timesteps", {}).get("default")
    all_extras = {**algorithm.extras, **extras}
    settings: dict[str, Any] = {
        "algo": algorithm.name,
        "extras": {**all_extras, "algo_params": parameters} if parameters else all_extras,
    }
    # What is not known here, the algorithm knows by itself.
    if chosen_env:
        settings["env_id"] = chosen_env
    if steps is not None:
        settings["total_timesteps"] = steps
    chosen_seed = seed if seed is not None else parameters.pop("seed", None)
    if chosen_seed is not None:
        settings["seed"] = chosen_seed
    if steps is not None and steps < 1:
        raise ConfigError(
            f"--total-timesteps is {steps}",
            hint="give the number of environment steps to train, 1 or more",
            field="total_timesteps",
        )
    return settings


def check_fit(
    algorithm: AlgorithmInfo, env_id: str, environments: Iterable[EnvironmentInfo]
) -> None:
    """Refuses an environment of the catalogue that the algorithm cannot handle.

    What the catalogue does not know is left to the worker, which looks at the real spaces.
    """
    known = next((item for item in environments if item.id == env_id), None)
    if known is None:
        return
    for kind, handled, what in (
        (known.action_kind, algorithm.action_spaces, "actions"),
        (known.observation_kind, algorithm.observation_spaces, "observations"),
    ):
        if kind in _PLAIN_KINDS and handled and kind not in handled:
            raise ConfigError(
                f"{algorithm.name} cannot train on {env_id}: it needs {' or '.join(handled)} "
                f"{what}, and these are {kind}",
                hint="`mosaic algos` shows which algorithm takes which spaces",
                field="algo",
            )


def run_document(
    worker: str,
    name: str,
    settings: dict[str, Any],
    *,
    cpus: int,
    memory_mb: int,
    gpus: int = 0,
    environment: dict[str, str] | None = None,
    metadata: dict[str, Any] | None = None,
) -> dict[str, Any]:
    return {
        "run_name": label(name),
        "entry_point": worker,
        "arguments": [],
        "environment": environment or {},
        "resources": {
            "cpus": cpus,
            "memory_mb": memory_mb,
            "gpus": {"requested": gpus, "mandatory": gpus > 0},
        },
        "artifacts": {},
        "metadata": {**(metadata or {}), "worker": {"config": settings}},
    }


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
