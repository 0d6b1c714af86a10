"""Whether an algorithm, an environment and what is installed go together, in sentences."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic.contracts.algorithm_info import AlgorithmInfo
from mosaic.contracts.environment_info import EnvironmentInfo
from mosaic.front.training_config import obstacle

_MOST_SUGGESTED = 4


def misfit(
    algorithm: AlgorithmInfo, environment: EnvironmentInfo | None, others: Iterable[AlgorithmInfo]
) -> str:
    """Why this algorithm cannot train there and which ones can; empty when it can.

    An environment that no catalogue knows is left to the worker, which looks at it.
    """
    if environment is None:
        return ""
    found = obstacle(algorithm, environment)
    if found is None:
        return ""
    able = fitting(environment, (other for other in others if other.worker == algorithm.worker))
    names = [other.name for other in able[:_MOST_SUGGESTED]]
    hint = f"try {', '.join(names)}" if names else "no algorithm here can"
    return (
        f"{environment.id} has {found.present} {found.what}; "
        f"{algorithm.name} needs {' or '.join(found.handled)}: {hint}"
    )


def fitting(
    environment: EnvironmentInfo, algorithms: Iterable[AlgorithmInfo]
) -> list[AlgorithmInfo]:
    return [
        algorithm
        for algorithm in algorithms
        if algorithm.is_available and obstacle(algorithm, environment) is None
    ]


def missing_packages(environment: EnvironmentInfo | None) -> str:
    """What has to be installed first; empty when nothing has."""
    if environment is None or not environment.install_command:
        return ""
    family = environment.family_title or environment.family
    return f"The packages of {family} are not installed: {environment.install_command}"
