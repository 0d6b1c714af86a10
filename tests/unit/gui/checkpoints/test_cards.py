"""Checkpoints as cards, told from records and manifests alone."""

from __future__ import annotations

from pathlib import Path, PurePosixPath
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.run_record import Progress, RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.gui.checkpoints.model.cards import (
    Card,
    FileFacts,
    HashStatus,
    actions_of,
    cards_of_run,
    facts_text,
    grouped,
    has_checkpoints_tab,
    is_within,
    latest_success,
    representative,
    return_metric,
    with_checkpoints,
    with_worker,
)


def record(**changes: Any) -> RunRecord:
    values: dict[str, Any] = {
        "run_id": "R1",
        "run_name": "ppo-1",
        "worker": "w",
        "state": RunState.TERM,
        "outcome": Outcome.SUCCEEDED,
        "attempt": 1,
        "priority": 0,
        "created_at": 0.0,
        "updated_at": 0.0,
        "env_id": "CartPole-v1",
        "checkpoint_uri": "runs/a/final.pt",
        "progress": Progress(steps=300),
        "paths": {"run_directory": "/home/r1"},
        "config": {"metadata": {"worker": {"config": {"algo": "ppo"}}}},
    }
    return RunRecord(**{**values, **changes})


def manifest(*checkpoints: dict[str, Any]) -> dict[str, Any]:
    return {"run_id": "R1", "worker_type": "w", "checkpoints": list(checkpoints)}


def worker(**capabilities: Any) -> WorkerInfo:
    values = {"supports_policy_load": True, "supports_resume": True, **capabilities}
    return WorkerInfo("w", "", "", "", "", WorkerCapabilities("w", **values), ())


def card(**changes: Any) -> Card:
    values: dict[str, Any] = {
        "path": Path("/home/r1/a.pt"),
        "title": "ppo-1",
        "worker": "w",
        "env_id": "CartPole-v1",
        "algo": "ppo",
        "run": record(),
    }
    return Card(**{**values, **changes})


def test_the_newest_checkpoint_of_a_run_comes_first() -> None:
    found, problem = cards_of_run(
        record(
            manifest=manifest(
                {"path": "a.pt", "step": 100, "metric": 42.5, "is_best": True, "sha256": "ab"},
                {"path": "b.pt", "step": 300, "is_final": True},
            )
        )
    )
    assert problem == ""
    assert [item.step for item in found] == [300, 100]
    assert found[0].badges == ("final",) and found[0].return_text == "return –"
    assert found[1].badges == ("best",) and found[1].return_text == "return 42.5"
    assert found[1].path == Path("/home/r1/a.pt") and found[1].group == "CartPole-v1 · ppo"
    best = representative(found)
    assert best is not None and best.step == 100


def test_a_run_without_a_manifest_has_the_checkpoint_it_named() -> None:
    found, _ = cards_of_run(record())
    assert [(item.path, item.step) for item in found] == [(Path("/home/r1/runs/a/final.pt"), 300)]
    assert cards_of_run(record(checkpoint_uri="")) == ((), "")
    assert representative(()) is None


def test_a_damaged_manifest_is_told_and_does_not_hide_what_is_known() -> None:
    found, problem = cards_of_run(record(manifest={"checkpoints": "none"}))
    assert "damaged" in problem and len(found) == 1


def test_nothing_in_a_manifest_leads_out_of_the_folder_of_its_run() -> None:
    found, _ = cards_of_run(
        record(
            manifest=manifest(
                {"path": "../../secret", "step": 1},
                {"path": "/etc/passwd", "step": 2},
                {"path": "ok.pt", "step": 3},
            )
        )
    )
    assert [item.path.name for item in found] == ["ok.pt"]
    assert not is_within(PurePosixPath("a/../../b"))


def test_a_config_that_is_no_object_names_no_algorithm() -> None:
    (found,), _ = cards_of_run(record(config={"metadata": "?"}))
    assert (found.algo, found.group) == ("", "CartPole-v1")


def test_another_environment_disables_deploying_and_offers_to_switch() -> None:
    actions = actions_of(card(), HashStatus.VERIFIED, worker(), "Acrobot-v1")
    assert actions.deploy == "made for CartPole-v1, but Acrobot-v1 is chosen"
    assert actions.switch_to == "CartPole-v1"
    assert (actions.evaluate, actions.resume) == ("", "")
    same = actions_of(card(), HashStatus.VERIFIED, worker(), "CartPole-v1")
    assert (same.deploy, same.switch_to) == ("", "")
    unknown = actions_of(card(env_id=""), HashStatus.VERIFIED, worker(), "Acrobot-v1")
    assert unknown.deploy == ""


def test_a_file_that_is_gone_or_damaged_cannot_be_used() -> None:
    for status in (HashStatus.MISSING, HashStatus.DAMAGED):
        actions = actions_of(card(), status, worker(), "CartPole-v1")
        assert actions.evaluate and actions.deploy and actions.resume
    elsewhere = actions_of(card(), HashStatus.ELSEWHERE, worker(), "CartPole-v1")
    assert elsewhere.evaluate == ""


def test_what_a_worker_cannot_do_is_not_offered() -> None:
    assert not actions_of(
        card(), HashStatus.VERIFIED, worker(supports_resume=False), "CartPole-v1"
    ).has_resume
    refused = actions_of(card(), HashStatus.VERIFIED, worker(supports_policy_load=False), "")
    assert refused.evaluate == "its worker does not load policies"
    assert "not here" in actions_of(card(), HashStatus.VERIFIED, None, "").deploy


def test_only_workers_that_take_networks_along_offer_a_warm_start() -> None:
    schema = {"properties": {"extras": {"properties": {"warm_start_path": {"type": "string"}}}}}
    for able, changes in ((True, {"config_schema": schema}), (False, {})):
        found = actions_of(card(), HashStatus.VERIFIED, worker(**changes), "CartPole-v1")
        assert found.has_warm_start is able


def test_a_run_that_goes_on_is_not_resumed() -> None:
    running = card(run=record(state=RunState.EXEC, outcome=None))
    actions = actions_of(running, HashStatus.UNCHECKED, worker(), "CartPole-v1")
    assert actions.resume == "its run is still going on" and actions.evaluate == ""


def test_a_file_without_a_worker_is_for_the_only_one_that_loads_policies() -> None:
    assert with_worker(card(worker=""), [worker()]).worker == "w"
    assert with_worker(card(worker=""), [worker(), worker()]).worker == ""
    assert with_worker(card(worker="x"), [worker()]).worker == "x"


def test_cards_are_grouped_by_environment_and_algorithm() -> None:
    cards = [card(), card(algo="dqn"), card(title="other")]
    assert [(name, len(found)) for name, found in grouped(cards)] == [
        ("CartPole-v1 · ppo", 2),
        ("CartPole-v1 · dqn", 1),
    ]


def test_the_latest_success_is_marked() -> None:
    runs = [
        record(run_id="R3", outcome=Outcome.FAILED),
        record(run_id="R2", checkpoint_uri=""),
        record(run_id="R1"),
    ]
    assert latest_success(runs) == "R1"
    assert latest_success([]) == ""
    assert [item.run_id for item in with_checkpoints(runs)] == ["R3", "R1"]


def test_a_run_whose_worker_may_save_has_the_tab() -> None:
    assert has_checkpoints_tab(record())
    assert has_checkpoints_tab(
        record(checkpoint_uri="", capabilities={"supports_checkpointing": True})
    )
    assert not has_checkpoints_tab(record(checkpoint_uri=""))


def test_facts_are_told_in_short() -> None:
    facts = FileFacts(HashStatus.UNCHECKED, 45_300, 1000.0)
    assert facts_text(card(), facts, 1120.0) == "2 min ago · 45.3 kB"
    assert facts_text(card(), FileFacts(HashStatus.MISSING), 0.0) == ""
    assert facts_text(card(), None, 0.0) == ""


def test_the_small_curve_is_the_return_while_training() -> None:
    names = ["losses/value_loss", "rollout/ep_rew_mean", "charts/episodic_return"]
    assert return_metric(names) == "charts/episodic_return"
    assert return_metric(names[:2]) == "rollout/ep_rew_mean"
    assert return_metric(["eval/episodic_return"]) == ""
