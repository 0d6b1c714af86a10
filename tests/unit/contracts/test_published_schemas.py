"""The schemas that come with the package: current, valid, and true of real documents."""

from __future__ import annotations

import sys
from pathlib import Path

import jsonschema
import pytest

from baseline_worker import get_worker_metadata
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.manifest import AnalyticsManifest, CheckpointEntry, RuntimeSummary
from mosaic.contracts.run_config import load_schema

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "tools"))
import contract_schemas


@pytest.mark.parametrize("name", contract_schemas.DERIVED)
def test_the_published_file_is_what_the_dataclass_says(name: str) -> None:
    published = load_schema(name)
    assert published == contract_schemas.derived_schemas()[name], "run `make docs`"
    jsonschema.Draft202012Validator.check_schema(published)


def test_capabilities_of_a_real_worker_fit_and_come_back() -> None:
    document = get_worker_metadata().to_dict()
    jsonschema.validate(_plain(document), load_schema("worker_capabilities"))
    assert WorkerCapabilities.from_dict(document) == get_worker_metadata()


def test_a_manifest_fits_and_comes_back() -> None:
    manifest = AnalyticsManifest("R", "w", checkpoints=(CheckpointEntry("a.bin", 3),))
    jsonschema.validate(_plain(manifest.to_dict()), load_schema("analytics"))
    assert AnalyticsManifest.from_dict(manifest.to_dict()) == manifest


def test_a_summary_fits() -> None:
    summary = RuntimeSummary("R", "w", "dry-run", ("python",), {"seed": 1})
    jsonschema.validate(_plain(summary.to_dict()), load_schema("runtime_summary"))


def _plain(value: object) -> object:
    """As JSON has it: lists where Python has tuples."""
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return [_plain(item) for item in value] if isinstance(value, list | tuple) else value
