"""Whether an algorithm, an environment and a worker go together, and what is missing."""

from __future__ import annotations

from collections.abc import Iterable

from mosaic.contracts.bundles import VenvInfo
from mosaic.contracts.catalogue import AlgorithmInfo, EnvironmentInfo
from mosaic.contracts.learner import extras_schemas
from mosaic.contracts.options import OptionSchemas
from mosaic.contracts.worker_info import ENTRY_POINT_SOURCE, WorkerInfo
from mosaic.front.training_config import space_mismatch

_MOST_SUGGESTED = 4


def misfit(
    algorithm: AlgorithmInfo, environment: EnvironmentInfo | None, others: Iterable[AlgorithmInfo]
) -> str:
    """Why this algorithm cannot train there and which ones can; empty when it can.

    An environment that no catalogue knows is left to the worker, which looks at it.
    """
    if environment is None:
        return ""
    found = space_mismatch(algorithm, environment)
    if found is None:
        return ""
    able = fitting_algorithms(
        environment, (other for other in others if other.worker == algorithm.worker)
    )
    names = [other.name for other in able[:_MOST_SUGGESTED]]
    hint = f"try {', '.join(names)}" if names else "no algorithm here can"
    return (
        f"{environment.id} has {found.present} {found.what}; "
        f"{algorithm.name} needs {' or '.join(found.handled)}: {hint}"
    )


def fitting_algorithms(
    environment: EnvironmentInfo, algorithms: Iterable[AlgorithmInfo]
) -> list[AlgorithmInfo]:
    """Those that can do the least else come first: what is made for pictures suits a game best."""
    able = [
        algorithm
        for algorithm in algorithms
        if algorithm.is_available and space_mismatch(algorithm, environment) is None
    ]
    return sorted(able, key=lambda one: len(one.observation_spaces) + len(one.action_spaces))


def missing_packages(environment: EnvironmentInfo | None, bundle: VenvInfo | None = None) -> str:
    """What has to be installed first; empty when nothing has. `bundle`: the one that holds it."""
    if environment is None or not environment.install_command:
        return ""
    family = environment.family_title or environment.family
    if bundle is not None:
        if bundle.is_usable:
            return ""
        return f"{family} is not installed yet: the first run there offers to install it"
    return f"The packages of {family} are not installed: {environment.install_command}"


def extras_of(worker: WorkerInfo | None) -> OptionSchemas:
    """What a worker's config takes beside an algorithm's parameters, by its own schema."""
    if worker is None or worker.capabilities is None:
        return {}
    return extras_schemas(worker.capabilities.config_schema)


def flagged_extras_of(worker: WorkerInfo | None) -> OptionSchemas:
    """Those among them whose flags `mosaic` has: it asks the workers that are installed beside it.

    All others can still be said with --extra.
    """
    is_installed = worker is not None and worker.source == ENTRY_POINT_SOURCE
    return extras_of(worker) if is_installed else {}


def settings_of(worker: WorkerInfo | None) -> OptionSchemas:
    if worker is None or worker.capabilities is None:
        return {}
    found: OptionSchemas = worker.capabilities.config_schema.get("properties", {})
    return found
