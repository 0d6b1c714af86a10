"""What schemas.json says about every algorithm: names, spaces and parameters, without torch."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.catalogue import AlgorithmInfo

SCHEMAS_FILE = Path(__file__).with_name("schemas.json")
# Published parameters per algorithm and environment, each with its source.
RECIPES_FILE = Path(__file__).with_name("recipes.json")
WORKER = "cleanrl"


@functools.cache
def load_schemas() -> Mapping[str, Any]:
    """The content of schemas.json, which `tools/algorithm_schemas.py` writes."""
    content: Mapping[str, Any] = json.loads(SCHEMAS_FILE.read_bytes())
    return content


def algorithm_catalogue() -> list[AlgorithmInfo]:
    """Entry point in the group `mosaic.algorithms`: those that run, then those still to come."""
    recipes: dict[str, list[Mapping[str, Any]]] = {}
    for recipe in json.loads(RECIPES_FILE.read_bytes()):
        recipes.setdefault(recipe["algorithm"], []).append(recipe)
    return [
        AlgorithmInfo.from_dict(
            {**entry, "name": name, "worker": WORKER, "recipes": recipes.get(name, ())}
        )
        for name, entry in load_schemas()["algorithms"].items()
    ]


def parameters_of(algo: str | None) -> Mapping[str, Mapping[str, Any]]:
    """The parameters of one algorithm; of all of them while it is not known which one it is."""
    algorithms = load_schemas()["algorithms"]
    if algo is not None:
        found: Mapping[str, Mapping[str, Any]] = algorithms.get(algo, {}).get("parameters", {})
        return found
    return {
        name: schema
        for entry in algorithms.values()
        for name, schema in entry.get("parameters", {}).items()
    }
