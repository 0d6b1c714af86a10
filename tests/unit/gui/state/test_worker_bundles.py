"""Workers whose packages come with a bundle."""

from __future__ import annotations

import dataclasses
import sys

from mosaic.contracts.bundles import BundleRule, VenvInfo, VenvNeed, VenvState
from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.contracts.run_state import FailureKind, FailureReason, Outcome
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.gui.launch.model.choices import RosterEntry, roster
from mosaic.gui.outcome.model.failure import failure_text
from mosaic.gui.state.bundles_state import BundlesState
from mosaic.gui.state.examples import EXAMPLES, Start, Surroundings, obstacle
from mosaic.gui.state.possible_actions import RunAction
from mosaic.gui.state.targets import Mode
from mosaic.gui.state.worker_bundles import (
    bundle_of,
    bundle_with,
    can_start,
    has_bundles,
    needs_of,
    own_bundle,
)
from tests.unit.gui.bundle_samples import going_on, info, installed
from tests.unit.gui.launch_samples import worker
from tests.unit.gui.run_samples import over

RULES = (
    BundleRule("learner"),
    BundleRule("atari", "env_id", ("ALE/*",)),
    BundleRule("old_scripts", "source", python_field="env_python"),
)


def learner(*, is_ready: bool = False) -> WorkerInfo:
    return worker("learner", WorkerCapabilities("learner", bundle_rules=RULES), is_ready=is_ready)


def shelf(*infos: VenvInfo) -> BundlesState:
    state = BundlesState()
    state.set_listed(infos)
    return state


def entry(bundles: BundlesState, **changes: bool) -> RosterEntry:
    return roster([learner(**changes)], Mode.AGENT, (), bundles)[-1]


def test_a_worker_that_lacks_only_its_bundle_can_be_started() -> None:
    assert own_bundle(learner()) == "learner" and has_bundles(learner())
    assert not can_start(learner(), shelf()), "nothing is known yet"
    assert can_start(learner(), shelf(info("learner")))
    assert can_start(learner(), shelf(installed("learner")))
    broken = dataclasses.replace(learner(), error="its module is gone")
    assert not can_start(broken, shelf(info("learner")))


def test_where_the_bundle_is_no_help_the_worker_has_the_word() -> None:
    for state in (VenvState.PRESENT, VenvState.UNAVAILABLE):
        bundles = shelf(info("learner", state=state))
        assert bundle_of(learner(), bundles) is None
        assert not can_start(learner(), bundles)
        assert can_start(learner(is_ready=True), bundles)


def test_a_worker_without_bundles_is_as_before() -> None:
    plain = worker("plain", is_ready=False)
    assert own_bundle(plain) == "" and not has_bundles(plain) and not has_bundles(None)
    assert not can_start(plain, shelf(info("plain")))
    assert needs_of(plain, {"metadata": {"worker": {"config": {}}}}) == ()


def test_what_a_document_needs_is_told_by_its_config() -> None:
    def needs(**config: str) -> tuple[VenvNeed, ...]:
        return needs_of(learner(), {"metadata": {"worker": {"config": config}}})

    assert needs(env_id="CartPole-v1") == (VenvNeed("learner"),)
    assert needs(env_id="ALE/Pong-v5") == (VenvNeed("learner+atari"),)
    assert VenvNeed("old_scripts", "env_python") in needs(source="upstream")
    assert needs_of(learner(), {"metadata": None}) == (VenvNeed("learner"),)
    assert needs_of(None, {}) == ()


def test_the_roster_says_what_is_still_to_be_installed() -> None:
    absent = entry(shelf(info("learner")))
    assert absent.word == "to install" and not absent.is_ready and absent.fix == ""
    assert "212 MB to fetch" in absent.tooltip
    assert entry(shelf(installed("learner"))).word == "ready"
    busy = info("learner", state=VenvState.INSTALLING, progress=going_on())
    assert entry(shelf(busy)).word == "installing"
    nowhere = info("learner", state=VenvState.UNAVAILABLE)
    assert entry(shelf(nowhere)).word == "not ready"
    assert entry(shelf(nowhere), is_ready=True).word == "ready"


def test_what_its_bundle_was_joined_with_holds_it_as_well() -> None:
    joined = (info("learner"), info("learner+box2d"), installed("learner+atari"))
    assert entry(shelf(*joined)).word == "ready"
    assert entry(shelf(info("learner"), installed("learners"))).word == "to install"


def test_of_several_that_hold_it_the_smallest_is_named_as_for_a_run() -> None:
    large = installed("learner+atari", fetch_bytes=900)
    found = bundle_of(learner(), shelf(info("learner"), installed("learner+box2d"), large))
    assert found is not None and found.name == "learner+atari"
    busy = info("learner", state=VenvState.INSTALLING, progress=going_on())
    assert bundle_of(learner(), shelf(busy, large)) == large


def test_an_environment_lacks_nothing_that_a_larger_bundle_holds() -> None:
    plain = worker("plain", WorkerCapabilities("plain", bundle_rules=(BundleRule("plain"),)))
    there = (installed("plain+a+b"), info("plain"), info("learner"), info("learner+atari"))
    found = bundle_with("CartPole-v1", [learner()], shelf(*there, installed("learner+video")))
    assert found is not None and (found.name, found.is_usable) == ("learner+video", True)
    # The worker that knows more of it still comes first.
    found = bundle_with("ALE/Pong-v5", [plain, learner()], shelf(*there))
    assert found is not None and (found.name, found.is_usable) == ("learner+atari", False)
    found = bundle_with("ALE/Pong-v5", [learner()], shelf(*there, installed("learner+atari+video")))
    assert found is not None and found.name == "learner+atari+video"


def test_the_bundle_that_holds_an_environment() -> None:
    plain = worker("plain", WorkerCapabilities("plain", bundle_rules=(BundleRule("plain"),)))
    bundles = shelf(info("plain"), info("learner"), info("learner+atari"))
    found = bundle_with("ALE/Pong-v5", [plain, learner()], bundles)
    assert found is not None and found.name == "learner+atari"
    assert bundle_with("ALE/Pong-v5", [worker("bare")], bundles) is None
    nowhere = shelf(info("learner+atari", state=VenvState.UNAVAILABLE))
    assert bundle_with("ALE/Pong-v5", [learner()], nowhere) is None


def test_an_example_waits_for_no_package_that_a_bundle_holds() -> None:
    example = next(item for item in EXAMPLES if item.start is Start.TRAIN)
    algorithm = AlgorithmInfo(example.algo, "learner", "")

    def told(bundles: BundlesState) -> str:
        return obstacle(
            example,
            Surroundings(
                (learner(),), (algorithm,), True, sys.executable, lambda _: False, bundles
            ),
        )

    assert "is not ready" in told(shelf())
    assert told(shelf(info("learner"))) == "", "it is offered when the example is started"


def test_a_failed_install_offers_the_same_run_again() -> None:
    hint = "`mosaic bundles install learner` tries again"
    reason = FailureReason(FailureKind.LAUNCH_ERROR, "The index does not answer", hint)
    text = failure_text(over(1, Outcome.FAILED, failure=reason), can_resume=False)
    assert text is not None and text.offers == (RunAction.RESUBMIT,)
