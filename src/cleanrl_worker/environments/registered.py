"""Finds the registered specification of an id, or says what is wrong with the id."""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from typing import Any

from cleanrl_worker.environments.catalogue import environments
from cleanrl_worker.environments.families import base_name, family_of, version_of, without_module
from cleanrl_worker.environments.family_imports import import_family
from mosaic.errors import ConfigError


def find_spec(env_id: str) -> Any:
    """The EnvSpec of `env_id`; a `module:` before the id is imported first, to register it.

    Looked up in the registry itself: gymnasium's own finder warns of ids that are old but good.
    """
    gymnasium = import_family(family_of(env_id), env_id)
    module = env_id.rpartition(":")[0]
    if module:
        _import_module(module, env_id)
    registry = gymnasium.registry
    name = without_module(env_id)
    spec = registry.get(name)
    if spec is None:
        raise _unknown(env_id, registry)
    if getattr(spec.entry_point, "__name__", "") == "_raise_mujoco_py_error":
        raise _replaced(env_id, registry)
    return spec


def _import_module(module: str, env_id: str) -> None:
    try:
        importlib.import_module(module)
    except (ImportError, ValueError) as error:
        raise ConfigError(
            f"'env_id': {env_id!r}: the module {module!r} cannot be imported: {error}",
            hint="a name before the colon is a Python module that registers the environment",
            field="env_id",
        ) from error


def _unknown(env_id: str, registered: Iterable[str]) -> ConfigError:
    names = list(registered)
    if any(base_name(name) == base_name(env_id) != env_id for name in names):
        return _replaced(env_id, names)
    known = dict.fromkeys([*names, *(info.id for info in environments())])
    nearest = nearest_names(without_module(env_id), known)
    hint = f"did you mean {' or '.join(nearest)}?" if nearest else "see `mosaic envs`"
    return ConfigError(
        f"'env_id': {env_id[:80]!r} is not a known environment", hint=hint, field="env_id"
    )


def newest_version(env_id: str, registered: Iterable[str]) -> str:
    """The id with the same name and the highest version; there must be one."""
    name = base_name(env_id)
    return max((item for item in registered if base_name(item) == name), key=_version)


def _replaced(env_id: str, registered: Iterable[str]) -> ConfigError:
    """For an id whose name exists in other versions only."""
    newest = newest_version(env_id, registered)
    change = (
        "was replaced by" if _version(newest) > _version(env_id) else "does not exist; there is"
    )
    return ConfigError(
        f"'env_id': {env_id!r} {change} {newest!r}", hint=f"use {newest}", field="env_id"
    )


def nearest_names(wanted: str, known: Iterable[str]) -> list[str]:
    """At most three known ids that are spelt alike or that `wanted` names without a version."""
    names = list(known)
    same = [name for name in names if _bare(name) == wanted.lower().rpartition("/")[2]]
    if same:
        return sorted(same, key=_version)[-1:]
    by_lower_case = {name.lower(): name for name in names}
    close = difflib.get_close_matches(wanted.lower(), by_lower_case, n=3, cutoff=0.6)
    return [by_lower_case[name] for name in close]


def _bare(env_id: str) -> str:
    return base_name(env_id).rpartition("/")[2].lower()


def _version(env_id: str) -> int:
    version = version_of(env_id)
    return -1 if version is None else version
