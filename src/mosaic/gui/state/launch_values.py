"""What other parts ask the form to hold, by the names that the forms' fields have."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from mosaic.front.training_config import label

# Of a run's config: what says which form it is, or is decided when the run starts.
_DROPPED = (
    *("worker", "mode", "policy_path", "checkpoint_path", "run_id", "track", "source"),
    *("unset_variables", "recording_limit_mb"),
)
_RENAMED = {"name": "run_name", "seed": "seeds", "cuda": "use_gpu", "gpu": "use_gpu"}


def field_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """From the settings of a config, or from values that are named as the fields already."""
    found: dict[str, Any] = {}
    for name, value in values.items():
        if value is None or name in _DROPPED:
            continue
        key = _RENAMED.get(name, name)
        if key == "seeds":
            value = str(value)
        elif key == "command" and isinstance(value, list):
            value = shlex.join(map(str, value))
        elif key == "tensorboard_dir":
            key, value = "tensorboard", True
        found[key] = value
    if "run_name" in found:
        found["run_name"] = _given_name(found)
        if not found["run_name"]:
            del found["run_name"]
    return found


def _given_name(values: Mapping[str, Any]) -> str:
    """Without what is added to every name, or nothing when the whole of it was made up."""
    name = str(values["run_name"]).removesuffix(f"-seed{values.get('seeds')}")
    made_up = label("-".join(str(values.get(part, "")) for part in ("algo", "env_id")))
    return "" if name == made_up else name
