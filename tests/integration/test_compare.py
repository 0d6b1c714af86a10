"""`mosaic compare` over runs of the real daemon: two policies, several seeds, clumsy words."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mosaic.cli.main import main
from mosaic.contracts.run_record import RunRecord
from tests.daemon_harness import DaemonHarness, run_document, running_daemon

SEEDS = 4
STEPS = 1200
HOSTILE = "<img src=x onerror=alert(1)> & co"
Compare = Callable[..., str]


@pytest.fixture(scope="module")
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon() as harness:
        yield harness


@pytest.fixture(scope="module")
def runs(daemon: DaemonHarness) -> dict[str, list[RunRecord]]:
    """Two groups that differ in their policy; one is known by its names only."""
    started: dict[str, list[str]] = {"random": [], "scripted": [], "other": []}
    for seed in range(SEEDS):
        for policy, name in (("random", "random"), ("heuristic", "scripted")):
            config = {
                "policy": policy,
                "seed": seed * 1000,
                "episodes": None,
                "total_timesteps": STEPS,
            }
            document = run_document(run_name=f"{name}-seed{seed * 1000}", config=config)
            if name == "random":
                document["metadata"]["group"] = HOSTILE
            started[name].append(daemon.client.start_run(document))
    other = run_document(
        run_name="another task", config={"env_id": "FrozenLake-v1", "policy": "random"}
    )
    started["other"].append(daemon.client.start_run(other))
    return {name: [daemon.wait_over(run_id) for run_id in ids] for name, ids in started.items()}


@pytest.fixture
def compare(daemon: DaemonHarness, capsys: pytest.CaptureFixture[str]) -> Compare:
    def run(*words: str, status: int = 0) -> str:
        assert main(["--home", str(daemon.home.root), "compare", *words]) == status
        shown = capsys.readouterr()
        return shown.out if status == 0 else shown.err

    return run


def test_groups_are_found_judged_and_written(
    compare: Compare, runs: dict[str, list[RunRecord]], tmp_path: Path
) -> None:
    page, picture = tmp_path / "report.html", tmp_path / "plot.png"
    text = compare(HOSTILE, "scripted-", "--out", str(page), "--png", str(picture))
    assert f"scripted is better than {HOSTILE}: P(improvement) = 1.00" in text
    assert "policy" in text and "heuristic" in text
    report = page.read_text()
    assert HOSTILE not in report and "&lt;img src=x onerror=alert(1)&gt; &amp; co" in report
    for run in runs["random"] + runs["scripted"]:
        assert run.run_id in report
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_the_numbers_are_those_of_the_runs(
    compare: Compare, runs: dict[str, list[RunRecord]], daemon: DaemonHarness
) -> None:
    ids = ",".join(run.run_id for run in runs["scripted"])
    data: dict[str, Any] = json.loads(compare(f"mine={ids}", "--last", "5", "--json"))
    (group,) = data["groups"]
    assert group["label"] == "mine" and len(group["runs"]) == SEEDS
    for row in group["runs"]:
        points = daemon.client.recent_metrics(row["run_id"], 5, ["rollout/episodic_return"])
        within = [point.value for point in points]
        record = daemon.client.get_run(row["run_id"])
        assert row["steps"] == record.progress.steps == STEPS
        assert row["final"] == pytest.approx(sum(within) / len(within))


def test_runs_of_one_config_find_together_by_their_ids(
    compare: Compare, runs: dict[str, list[RunRecord]]
) -> None:
    ids = [run.run_id for run in runs["random"][:2] + runs["scripted"][:2]]
    data = json.loads(compare(*ids, "--json"))
    assert [len(group["runs"]) for group in data["groups"]] == [2, 2]


def test_another_metric(compare: Compare, runs: dict[str, list[RunRecord]]) -> None:
    assert "rollout/episodic_length on CartPole-v1" in compare(
        "scripted-", "--metric", "rollout/episodic_length"
    )


def test_what_cannot_be_compared_is_refused_with_a_reason(
    compare: Compare, runs: dict[str, list[RunRecord]]
) -> None:
    assert "There is no run 'nobody'" in compare("nobody", status=4)
    assert "2 environments" in compare("scripted-", "another task", status=2)
    refusal = compare("scripted-", "--metric", "nothing/like/it", status=2)
    assert "rollout/episodic_return" in refusal


def test_a_run_without_episodes_is_named_and_the_rest_compared(
    compare: Compare, runs: dict[str, list[RunRecord]], daemon: DaemonHarness
) -> None:
    config = {"policy": "random", "seed": 77, "episodes": None, "total_timesteps": 2}
    run_id = daemon.submit(run_name="empty", config=config)
    daemon.wait_over(run_id)
    text = compare("scripted-", "empty")
    assert "empty is left out: no run of it counts (empty: no value)" in text
    assert "None of the runs has values" in compare("empty", status=2)
