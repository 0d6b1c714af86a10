"""Writes schemas.json of the CleanRL worker: every algorithm's parameters, for forms and help."""

from __future__ import annotations

import json
from typing import Any

from cleanrl_worker.catalogue import SCHEMAS_FILE
from cleanrl_worker.launcher import default_arguments
from cleanrl_worker.registry import DEFAULT_ALGO_REGISTRY, PLANNED_ALGORITHMS, Algorithm
from mosaic.worker.config import config_schema, config_to_dict

FORMAT_VERSION = 1


def algorithm_schemas() -> dict[str, Any]:
    available = {name: _described(item) for name, item in DEFAULT_ALGO_REGISTRY.items()}
    planned = {name: _planned() for name in PLANNED_ALGORITHMS}
    return {"version": FORMAT_VERSION, "algorithms": {**available, **planned}}


def schemas_text() -> str:
    return json.dumps(algorithm_schemas(), indent=1) + "\n"


def _described(algorithm: Algorithm) -> dict[str, Any]:
    arguments = default_arguments(algorithm)
    defaults = config_to_dict(arguments)
    properties = config_schema(type(arguments))["properties"]
    return {
        "summary": algorithm.summary,
        "module": algorithm.module,
        "is_available": True,
        "action_spaces": list(algorithm.action_spaces),
        "observation_spaces": list(algorithm.observation_spaces),
        "cpus": algorithm.cpus,
        "memory_mb": algorithm.memory_mb,
        # The preset's values are the defaults of this name.
        "parameters": {
            name: {**schema, "default": defaults[name]} for name, schema in properties.items()
        },
    }


def _planned() -> dict[str, Any]:
    return {"summary": "not available yet", "is_available": False}


if __name__ == "__main__":
    SCHEMAS_FILE.write_text(schemas_text())
