"""The catalogue of environments: what there is, without importing any of it.

`catalogue.json` is written by `tools/environment_catalogue.py` from the installed packages and the
descriptions in `descriptions/`.
"""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from cleanrl_worker.environments.families import FAMILIES, Family
from mosaic.contracts.catalogue import EnvironmentInfo
from mosaic.errors import ConfigError

CATALOGUE_FILE = Path(__file__).with_name("catalogue.json")
# How long a training usually is, by environment or family; the rest is up to the algorithm.
TIMESTEPS_FILE = Path(__file__).with_name("timesteps.json")


def environments(family: str | None = None) -> list[EnvironmentInfo]:
    """All environments, or those of one family, in the order of the families."""
    if family is not None and family not in FAMILIES:
        raise ConfigError(
            f"'family': there is no environment family {family[:80]!r}",
            hint=f"families: {', '.join(FAMILIES)}",
            field="family",
        )
    return [info for info in _catalogue() if family in (None, info.family)]


def environment_catalogue() -> list[EnvironmentInfo]:
    """Entry point of the group `mosaic.environments`."""
    installs = {
        name: "" if _is_installed(family) else family.install_command
        for name, family in FAMILIES.items()
    }
    usual = json.loads(TIMESTEPS_FILE.read_bytes())
    return [
        replace(
            info,
            usual_timesteps=usual["environments"].get(info.id, usual["families"].get(info.family)),
            family_title=FAMILIES[info.family].title,
            install_command=installs[info.family],
        )
        for info in environments()
    ]


def _is_installed(family: Family) -> bool:
    """Whether its packages can be found; nothing is imported, which would take seconds."""
    return all(find_spec(module) is not None for module in ("gymnasium", *family.modules))


@cache
def _catalogue() -> tuple[EnvironmentInfo, ...]:
    entries = json.loads(CATALOGUE_FILE.read_bytes())
    return tuple(EnvironmentInfo.from_dict(entry) for entry in entries)
