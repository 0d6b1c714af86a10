"""What counts as installed beside MOSAIC."""

from __future__ import annotations

from pathlib import Path

from mosaic.bundles.definitions import BundleDefinition
from mosaic.bundles.presence import installed_versions, missing_requirements
from mosaic.contracts.bundles import BundleKind


def bundle(*requirements: str, own_python: bool = False) -> BundleDefinition:
    return BundleDefinition(
        "learner", BundleKind.WORKER, "Learner", "", requirements, (), (), own_python, Path()
    )


def test_nothing_is_missing_where_all_is_there_in_a_version_that_fits() -> None:
    versions = {"numpy": "2.4.6", "torch": "2.13.0+cpu", "my-games": "1.0"}
    wanted = bundle("numpy>=2", "torch==2.13.0", "My_Games")
    assert missing_requirements([wanted], versions, "3.11.7") == ()


def test_what_is_absent_or_of_another_version_is_named() -> None:
    wanted = bundle("numpy<2", "torch", "rich")
    versions = {"numpy": "2.4.6", "rich": "15"}
    assert missing_requirements([wanted, bundle("torch")], versions, "3.11") == ("numpy<2", "torch")


def test_a_release_candidate_that_is_there_counts() -> None:
    assert missing_requirements([bundle("numpy>=2")], {"numpy": "2.5.0rc1"}, "3.11") == ()


def test_a_version_that_cannot_be_read_does_not_count() -> None:
    assert missing_requirements([bundle("numpy>=2")], {"numpy": "?"}, "3.11") == ("numpy>=2",)


def test_what_another_python_needs_is_not_missing_here() -> None:
    wanted = bundle("backport; python_version < '3.12'")
    assert missing_requirements([wanted], {}, "3.12.1") == ()
    assert missing_requirements([wanted], {}, "3.11.7") == wanted.requirements


def test_a_bundle_that_needs_a_venv_of_its_own_is_never_present() -> None:
    wanted = bundle("numpy<2", own_python=True)
    assert missing_requirements([wanted], {"numpy": "1.26.4"}, "3.11") == ("numpy<2",)


def test_installed_packages_are_found_by_their_canonical_name() -> None:
    assert {"packaging", "python-ulid"} <= installed_versions().keys()
