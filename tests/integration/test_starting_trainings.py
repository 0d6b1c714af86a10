"""Trainings from the command line: recipes, warm starts, and when the task was solved."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

pytest.importorskip("torch")

from tests.daemon_harness import DaemonHarness, running_daemon
from tests.integration.test_cli import Terminal


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def mosaic(daemon: DaemonHarness) -> Terminal:
    return Terminal(daemon.environment)


@pytest.fixture(scope="module")
def solved(mosaic: Terminal) -> str:
    return mosaic.run("train", "ppo", "CartPole-v1", "--recipe", "tuned", "--seed", "1")


def test_the_recipe_solves_cart_pole_and_says_when(solved: str, daemon: DaemonHarness) -> None:
    found = re.search(
        r"^solved at step ([\d,]+), after \S+ s: .* 100 episodes reached 475$", solved, re.M
    )
    assert found is not None, solved
    [record] = daemon.client.list_runs()
    assert int(found[1].replace(",", "")) <= 100_000 == record.progress.steps
    assert daemon.client.get_run(record.run_id).config["metadata"]["recipe"] == "tuned"


def test_catalogues_tell_about_recipes(mosaic: Terminal) -> None:
    about = mosaic.run("envs", "CartPole-v1")
    assert "mosaic train ppo CartPole-v1 --recipe tuned" in about
    assert "RL Baselines3 Zoo" in about and "expect ≥ 475" in about
    ppo = next(item for item in mosaic.json("algos") if item["name"] == "ppo")
    assert {"tuned", "published"} <= {recipe["name"] for recipe in ppo["recipes"]}
    refused = mosaic.run("train", "ppo", "Taxi-v4", "--recipe", "tuned", status=2)
    assert "no recipe 'tuned' for Taxi-v4" in refused and "CartPole-v1" in refused


def test_short_numbers_are_understood_and_nonsense_is_refused(mosaic: Terminal) -> None:
    words = ("train", "ppo", "CartPole-v1", "--dry-run", "--total-timesteps")
    mosaic.run(*words, "1.2M")
    assert "'many' is not a whole number" in mosaic.run(*words, "many", status=2)


def test_a_warm_start_that_cannot_fit_never_becomes_a_run(
    solved: str, mosaic: Terminal, daemon: DaemonHarness
) -> None:
    [record] = daemon.client.list_runs()
    words = ("--warm-start", record.run_id, "--total-timesteps", "1k")
    other = mosaic.run("train", "ppo", "Acrobot-v1", *words, status=2)
    assert "trained on CartPole-v1" in other and "6 numbers" in other
    assert "trained by ppo, not by dqn" in mosaic.run(
        "train", "dqn", "CartPole-v1", *words, status=2
    )
    assert len(daemon.client.list_runs()) == 1
