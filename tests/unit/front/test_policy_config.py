"""The document of a run in which somebody plays."""

from __future__ import annotations

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.check_result import CheckResult
from mosaic.contracts.run_config import parse_run_config
from mosaic.contracts.worker_info import WorkerInfo
from mosaic.front.policy_config import play_document, play_fields, workers_for_play


def worker(name: str, can_play: bool, is_ready: bool = True) -> WorkerInfo:
    capabilities = WorkerCapabilities(name, supports_play=can_play)
    readiness = () if is_ready else (CheckResult("torch", False, "missing", "pip", True),)
    return WorkerInfo(name, name, "python", "entry", "", capabilities, readiness)


def test_a_person_plays_without_a_policy() -> None:
    document = play_document("player", "CartPole-v1", seed=7)
    config = parse_run_config(document)
    assert config.run_name == "play-CartPole-v1"
    assert document["metadata"]["purpose"] == "play"
    settings = config.worker.config
    assert (settings["env_id"], settings["seed"]) == ("CartPole-v1", 7)
    assert settings["extras"]["mode"] == "interactive"
    assert settings["extras"]["play"]["controller"] == "human"
    assert "policy_path" not in settings["extras"] and "algo" not in settings


def test_names_of_environments_become_names_of_runs() -> None:
    assert play_document("player", "ALE/Pong-v5")["run_name"] == "play-ALE-Pong-v5"


def test_a_policy_plays_and_its_run_is_remembered() -> None:
    document = play_document(
        "player",
        "CartPole-v1",
        "/x/model",
        algo="ppo",
        parent_run="01K",
        play=play_fields("policy"),
    )
    settings = document["metadata"]["worker"]["config"]
    assert settings["extras"]["policy_path"] == "/x/model"
    assert settings["algo"] == "ppo"
    assert settings["extras"]["play"]["controller"] == "policy"
    assert document["metadata"]["lineage"] == {"parent_run": "01K"}
    alone = play_document("player", "CartPole-v1")
    expected = [made["resources"]["expected_memory_mb"] for made in (document, alone)]
    assert expected[0] > expected[1]


def test_without_a_rate_the_worker_takes_that_of_real_life() -> None:
    assert "fps" not in play_fields("human")
    assert play_fields("human", fps=25, idle=(0, 1))["idle"] == [0, 1]


def test_players_are_workers_that_say_so_and_those_that_can_start_come_first() -> None:
    found = workers_for_play(
        [worker("a", True, is_ready=False), worker("b", False), worker("c", True)]
    )
    assert [item.name for item in found] == ["c", "a"]
