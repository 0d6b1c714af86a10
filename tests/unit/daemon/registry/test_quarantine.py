"""What people are told about runs that are set aside."""

from __future__ import annotations

from mosaic.daemon.registry.quarantine import set_aside_sentence


def test_the_sentence_names_every_run_with_its_reason_and_what_to_do() -> None:
    assert set_aside_sentence({}) == ""
    told = set_aside_sentence({"RUN1": "attempt is -1"})
    assert told.startswith("1 run is set aside") and "RUN1 (attempt is -1)" in told
    assert "mosaic delete --for-good RUN" in told


def test_of_many_runs_some_are_named_and_all_are_counted() -> None:
    told = set_aside_sentence({f"RUN{number}": "damaged" for number in range(8)})
    assert told.startswith("8 runs are set aside") and "RUN4 (damaged), 3 more." in told
    assert "RUN5" not in told
