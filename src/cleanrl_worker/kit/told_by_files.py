"""What the files beside a checkpoint may say about its environment, and what only a person may."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.consent import foreign_arguments, names_module
from mosaic.errors import ConfigError


def check_told_environment(env_id: str, path: Path) -> None:
    """Refuses `module:Environment-v0`, which would import whatever a file names."""
    if names_module(env_id, "env_id"):
        raise ConfigError(
            f"'env_id': a file beside {path.name} says {env_id[:80]!r}, and a module is not "
            "imported because a file says so",
            hint="say it yourself: `mosaic eval … --env-id`, `mosaic resume … --set env_id=…`",
            field="env_id",
        )


def check_told_arguments(env_kwargs: Mapping[str, Any], path: Path) -> None:
    """Refuses what may be a file, a function or another environment."""
    for name, value in foreign_arguments(env_kwargs).items():
        raise ConfigError(
            f"'env_kwargs': a file beside {path.name} says {name[:40]} = {str(value)[:80]!r}, "
            "which is neither a number nor a plain word",
            hint="say it yourself: `mosaic eval … --extra env_kwargs={…}`, "
            "`mosaic resume … --set env_kwargs={…}`",
            field="env_kwargs",
        )
