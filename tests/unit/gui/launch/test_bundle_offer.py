"""What the launch form offers where its run lacks something."""

from __future__ import annotations

from mosaic.contracts.bundles import VenvState
from mosaic.gui.launch.model.bundle_offer import INSTALL, QUEUE, BundleOffer, offer_of
from tests.unit.gui.bundle_samples import LONGEST_TITLE, MB, SIX_PARTS, going_on, info

ATARI = info("learner+atari", title="Learner + Atari")


def offer(*missing: object) -> BundleOffer:
    found = offer_of(list(missing), "ALE/Pong-v5")  # type: ignore[arg-type]
    assert found is not None
    return found


def test_nothing_missing_is_no_offer() -> None:
    assert offer_of([], "ALE/Pong-v5") is None


def test_it_says_what_is_fetched_and_agrees_to_no_more() -> None:
    found = offer(ATARI)
    assert found.text == "ALE/Pong-v5 needs Learner + Atari (212 MB)."
    assert found.button == INSTALL and found.most_bytes == 212 * MB
    assert found.name == "learner+atari" and found.is_possible
    same = offer_of([info("learner", title="CleverRL worker")], "CleverRL Worker")
    assert same is not None and same.text == "CleverRL worker is not installed yet (212 MB)."
    both = offer(ATARI, info("old", title="Scripts of old"))
    assert both.text == "ALE/Pong-v5 needs Learner + Atari and Scripts of old (424 MB)."
    assert both.most_bytes == 424 * MB


def test_what_is_being_installed_is_waited_for() -> None:
    found = offer(info("jax", title="JAX", state=VenvState.INSTALLING, progress=going_on(0.61)))
    assert found.text == "Installing JAX: 61 %." and found.button == QUEUE
    assert found.most_bytes == 212 * MB, "it may have to begin again"
    assert found.is_under_way and not offer(ATARI).is_under_way
    slow = info("old", title="Old", state=VenvState.INSTALLING, progress=going_on(0.2))
    fast = info("jax", title="JAX", state=VenvState.INSTALLING, progress=going_on(0.61))
    assert offer(fast, slow).text == "Installing JAX and Old: 20 %."


def test_what_is_broken_is_made_again() -> None:
    found = offer(info("jax", title="JAX", state=VenvState.BROKEN))
    assert found.text == "JAX is damaged and has to be installed again (212 MB)."


def test_what_cannot_be_had_says_why_and_has_no_button() -> None:
    nowhere = info("ray", state=VenvState.UNAVAILABLE, problem="there is no lock", hint="use 3.11")
    found = offer(ATARI, nowhere)
    assert found.text == "There is no lock." and found.advice == "Use 3.11."
    assert not found.is_possible and "cannot be installed" in found.reason


def test_hostile_values() -> None:
    found = offer(info(SIX_PARTS, title=LONGEST_TITLE, fetch_bytes=10**13))
    assert len(found.text) < 120 and "10.0 TB" in found.text and found.most_bytes == 10**13
    assert offer(info(fetch_bytes=0)).text == "ALE/Pong-v5 needs The learner."
    assert SIX_PARTS in offer(info(SIX_PARTS, title="")).text


def test_a_build_that_stands_in_says_why() -> None:
    note = "This is the CUDA build: there is no other."
    found = offer(info("a", title="A", note=note), info("b", title="B", note=note))
    assert found.advice == note and found.most_bytes == 424 * MB and found.is_possible
