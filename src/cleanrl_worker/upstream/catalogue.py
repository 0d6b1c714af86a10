"""Upstream's scripts as algorithms, for `mosaic train --source upstream`, its help and forms."""

from __future__ import annotations

from typing import Any

from cleanrl_worker.catalogue import WORKER
from cleanrl_worker.config import UPSTREAM
from cleanrl_worker.registry import DEFAULT_ALGO_REGISTRY
from cleanrl_worker.upstream.interpreter import interpreter_path
from cleanrl_worker.upstream.planning import find_parameter
from cleanrl_worker.upstream.script_reading import Script, read_script
from cleanrl_worker.upstream.scripts import find_scripts
from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.worker import ConfigError

_MEMORY_MB = 4096  # two processes, and a replay buffer of usual size


def upstream_algorithms(path: str | None, env_python: str | None) -> list[AlgorithmInfo]:
    """Entry point in the group `mosaic.algorithm_sources`."""
    python = interpreter_path(env_python)
    extras = {"source": UPSTREAM, "upstream_path": path, "env_python": env_python}
    given = {name: value for name, value in extras.items() if value is not None}
    found = []
    for file in find_scripts(path, python).scripts.values():
        try:
            found.append(_described(read_script(file), given))
        except ConfigError:
            continue  # something else that lies there
    return found


def _described(script: Script, extras: dict[str, Any]) -> AlgorithmInfo:
    own = DEFAULT_ALGO_REGISTRY.get(script.name)
    parameters = {name: parameter.schema for name, parameter in script.parameters.items()}
    env_id = find_parameter(script, "env_id")
    default_env_id = ""
    if env_id is not None:  # by the name it has everywhere else
        parameters["env_id"] = parameters.pop(env_id.name)
        default_env_id = env_id.schema.get("default") or ""
    return AlgorithmInfo(
        name=script.name,
        worker=WORKER,
        summary=f"{script.path} ({script.generation})",
        default_env_id=default_env_id,
        memory_mb=max(_MEMORY_MB, 0 if own is None else own.memory_mb),
        parameters=parameters,
        extras=extras,
    )
