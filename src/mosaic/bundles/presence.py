"""Whether what a bundle asks for is installed beside MOSAIC already."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterable, Mapping

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import InvalidVersion

from mosaic.bundles.definitions import BundleDefinition


def missing_requirements(
    definitions: Iterable[BundleDefinition], versions: Mapping[str, str], python: str
) -> tuple[str, ...]:
    """What these bundles require and `versions` (by canonical name) do not have; none: present.

    A bundle that must be a venv of its own misses all it requires, whatever is there.
    """
    environment = _environment(python)
    missing = [
        text
        for definition in definitions
        for text in definition.requirements
        if definition.own_python or not _is_met(Requirement(text), versions, environment)
    ]
    return tuple(dict.fromkeys(missing))


def installed_versions() -> dict[str, str]:
    """Of the running interpreter, by canonical name."""
    versions: dict[str, str] = {}
    for distribution in importlib.metadata.distributions():
        # The first on the path is the one that is imported. Folders left by a broken uninstall
        # have no name.
        name = distribution.metadata["Name"] if distribution.metadata else None
        if name:
            versions.setdefault(canonicalize_name(name), distribution.version)
    return versions


def _is_met(
    requirement: Requirement, versions: Mapping[str, str], environment: dict[str, str]
) -> bool:
    if requirement.marker is not None and not requirement.marker.evaluate(environment):
        return True
    version = versions.get(canonicalize_name(requirement.name))
    if version is None:
        return False
    try:
        return requirement.specifier.contains(version, prereleases=True)
    except InvalidVersion:
        return False


def _environment(python: str) -> dict[str, str]:
    short = ".".join(python.split(".")[:2])
    full = python if python.count(".") > 1 else f"{short}.0"
    return {"python_version": short, "python_full_version": full}
