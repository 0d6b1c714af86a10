"""Which installed packages a worker runs on, for analytics.json."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable
from importlib import metadata

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.manifest import DependencyBundle

WORKER_GROUP = "mosaic.workers"
MAX_PACKAGES = 60
_NAME = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)")
_EXTRA = re.compile(r"""extra\s*==\s*['"]([^'"]+)['"]""")


def dependency_bundle(module: str, capabilities: WorkerCapabilities) -> DependencyBundle:
    """The distribution that brings the worker, and the versions of what it needs.

    A worker that is not installed, but only put on the path, has no distribution; the packages of
    its readiness checks are listed all the same.
    """
    owner = _distribution(module)
    names: list[str] = []
    if owner is not None:
        names = main_requirements(owner.requires or (), capabilities.worker_type)
    for check in capabilities.readiness_checks:
        kind, _, imported = check.check.partition(":")
        if kind == "import":
            names.append(imported.partition(".")[0])
    return DependencyBundle(
        distribution="" if owner is None else owner.name,
        version="" if owner is None else owner.version,
        python=sys.version.partition(" ")[0],
        packages=_versions(names),
    )


def main_requirements(requirements: Iterable[str], worker_type: str) -> list[str]:
    """Names out of the extra that is called like the worker; without one, what is always needed."""
    always, own = [], []
    for requirement in requirements:
        name = _NAME.match(requirement)
        if name is None:
            continue
        extra = _EXTRA.search(requirement)
        if extra is None:
            always.append(name[1])
        elif extra[1] == worker_type:
            own.append(name[1])
    return own or always


def _distribution(module: str) -> metadata.Distribution | None:
    package = module.partition(".")[0]
    for entry in metadata.entry_points(group=WORKER_GROUP):
        if entry.value.partition(":")[0].partition(".")[0] == package and entry.dist is not None:
            return entry.dist
    return None


def _versions(names: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for name in list(dict.fromkeys(names))[:MAX_PACKAGES]:
        try:
            found[name] = metadata.version(name)
        except (metadata.PackageNotFoundError, ValueError):
            continue  # not installed, or a module that is not called like its package
    return dict(sorted(found.items()))
