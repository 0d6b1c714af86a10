"""Workers as the daemon knows them."""

from __future__ import annotations

import json

from mosaic.contracts.capabilities import ReadinessCheck, WorkerCapabilities
from mosaic.contracts.check_result import CheckResult
from mosaic.daemon.workers.entry import WorkerEntry, find_worker, unknown_worker
from tests.worker_samples import entry


def test_an_entry_survives_the_cache() -> None:
    checks = (ReadinessCheck("torch", "import:torch", "pip install torch"),)
    original = entry(
        path_dirs=("/a", "/b"),
        capabilities=WorkerCapabilities(
            "x", readiness_checks=checks, config_schema={"type": "object"}
        ),
        readiness=(CheckResult("torch", False, "missing", "fix"),),
    )
    assert WorkerEntry.from_dict(json.loads(json.dumps(original.to_dict()))) == original


def test_names_come_before_modules_and_usable_before_broken() -> None:
    broken = entry(error="cannot import")
    usable = entry(source="/manifest.toml")
    shadow = entry("sample_pack", module="other.cli")
    assert find_worker([broken, usable], "sample") is usable
    assert find_worker([broken], "sample") is broken
    assert find_worker([usable, shadow], "sample_pack") is shadow
    assert find_worker([usable], "sample_pack.cli") is usable
    assert find_worker([usable], "sample_pack.other") is None
    assert find_worker([entry(module="")], "") is None


def test_an_unknown_name_is_answered_with_what_there_is() -> None:
    error = unknown_worker([entry("alpha"), entry("beta")], "alfa")
    assert error.details["workers"] == ["alpha", "beta"]
    assert "did you mean alpha?" in error.hint
    assert "none are installed" in unknown_worker([], "x").hint
