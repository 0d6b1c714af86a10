"""What a worker runs on is found out without importing any of it."""

from __future__ import annotations

import json
from importlib import metadata

import pytest

from mosaic.contracts import worker_environment
from mosaic.contracts.capabilities import ReadinessCheck, WorkerCapabilities
from mosaic.contracts.manifest import DependencyBundle
from mosaic.worker.analytics import dependency_bundle, main_requirements, other_bundles

REQUIREMENTS = [
    "grpcio>=1.85.1",
    "rich[jupyter]>=13 ; python_version >= '3.11'",
    'torch>=2.4; extra == "learner"',
    "gymnasium[box2d]<2,>=1.1 ; extra == 'learner'",
    'scipy; extra == "compare"',
    "@ nonsense",
]


def test_the_extra_of_the_worker_says_what_it_needs() -> None:
    assert main_requirements(REQUIREMENTS, "learner") == ["torch", "gymnasium"]


def test_without_such_an_extra_it_is_what_is_always_needed() -> None:
    assert main_requirements(REQUIREMENTS, "other") == ["grpcio", "rich"]


def test_an_installed_worker_has_its_distribution_and_versions() -> None:
    checks = (
        ReadinessCheck("pytest", "import:pytest.something", "pip install pytest"),
        ReadinessCheck("missing", "import:no_such_package_anywhere", "-"),
        ReadinessCheck("program", "command:pytest", "-"),
    )
    capabilities = WorkerCapabilities("baseline", readiness_checks=checks)
    bundle = dependency_bundle("baseline_worker.cli", capabilities)
    assert (bundle.distribution, bundle.version) == ("mosaic-rl", metadata.version("mosaic-rl"))
    assert bundle.packages == {
        "gymnasium": metadata.version("gymnasium"),
        "pytest": metadata.version("pytest"),
    }
    assert bundle.python.startswith("3.")


def test_a_worker_that_is_only_on_the_path_has_none() -> None:
    bundle = dependency_bundle("somebody.elses.worker", WorkerCapabilities("foreign"))
    assert (bundle.distribution, bundle.version, bundle.packages) == ("", "", {})


def test_venvs_of_programs_are_those_that_the_daemon_has_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv(worker_environment.OTHER_BUNDLES, raising=False)
    assert other_bundles() == ()
    told = [{"name": "scripts", "lock_hash": "ab", "accelerator": "cpu", "python": "3.10.4"}]
    monkeypatch.setenv(worker_environment.OTHER_BUNDLES, json.dumps(told))
    (found,) = other_bundles()
    assert found == DependencyBundle(
        name="scripts", lock_hash="ab", accelerator="cpu", python="3.10.4"
    )
    for nonsense in ("nonsense", "7", "[7]", '[{"of": "later"}]'):
        monkeypatch.setenv(worker_environment.OTHER_BUNDLES, nonsense)
        assert other_bundles() == ()
