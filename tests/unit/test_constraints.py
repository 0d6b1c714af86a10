"""Holds the pinned versions to what is promised about a fresh machine."""

from __future__ import annotations

import re
import tomllib
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
PINS = dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints.txt").read_text(), re.MULTILINE))
PROMISED = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
# The first release of each version: distributions stay with what they began with.
PROMISED_PYTHONS = [
    version
    for version in ("3.11.0", "3.12.0", "3.13.0")
    if SpecifierSet(PROMISED).contains(version)
]


def _installed(name: str) -> Distribution | None:
    try:
        return distribution(name)
    except PackageNotFoundError:
        return None


@pytest.mark.parametrize("name", PINS)
def test_a_pinned_version_installs_on_every_python_that_is_promised(name: str) -> None:
    """One that does not leaves an old pip searching for hours, through gigabytes of packages."""
    package = _installed(name)
    if package is None:
        pytest.skip("not installed on this Python")
    needed = SpecifierSet(",".join(package.metadata.get_all("Requires-Python") or []))
    assert [version for version in PROMISED_PYTHONS if not needed.contains(version)] == []


def test_every_package_is_pinned_once() -> None:
    names = [canonicalize_name(name) for name in PINS]
    assert len(names) == len(set(names)) > 100
