from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from mosaic.bundles.locks import Lock
from mosaic.contracts.bundles import BundleRule, VenvNeed, VenvState
from mosaic.contracts.capabilities import ReadinessCheck, WorkerCapabilities
from mosaic.contracts.check_result import CheckResult
from mosaic.daemon.bundles.needs import ResolvedVenv, VenvResolver
from mosaic.daemon.bundles.readiness import ready_by_install
from mosaic.daemon.workers.entry import WorkerEntry
from tests.support.bundle_builds import lock_of
from tests.support.tiny_wheels import make_wheel

ABLE = WorkerCapabilities(
    "w",
    readiness_checks=(ReadinessCheck("torch", "import:torch", "install it"),),
    bundle_rules=(BundleRule("learner"),),
)
ENTRY = WorkerEntry(
    "w", "w.cli", "/python", capabilities=ABLE, readiness=(CheckResult("torch", False, "missing"),)
)


class Resolver:
    """Whatever is needed, this is there."""

    def __init__(self, name: str, state: VenvState, lock: Lock) -> None:
        self.found = ResolvedVenv(VenvNeed(name), state, lock)

    def resolve(self, need: VenvNeed) -> ResolvedVenv:
        return self.found


@pytest.mark.parametrize(
    ("name", "state", "words"),
    [
        ("learner", VenvState.ABSENT, "(learner) is installed when it is first needed"),
        ("learner", VenvState.INSTALLED, "(learner) is installed"),
        ("learner+atari", VenvState.INSTALLED, "(learner+atari) is installed"),
    ],
)
def test_a_worker_is_ready_and_says_what_holds_its_packages(
    tmp_path: Path, name: str, state: VenvState, words: str
) -> None:
    resolver = Resolver(name, state, lock_of([make_wheel(tmp_path, "alpha")]))
    entry = ready_by_install(ENTRY, cast(VenvResolver, resolver), "/python")
    assert entry.missing is None and entry.readiness[0].message.endswith(words)
