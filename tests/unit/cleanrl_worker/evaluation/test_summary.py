"""eval_summary.json: its figures, its history, and what an interrupted evaluation goes on with."""

from __future__ import annotations

import json
import logging
import math
import os
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker.evaluation import summary as summary_module
from cleanrl_worker.evaluation.episodes import FinishedEpisode
from cleanrl_worker.evaluation.summary import BatchSummary, Conditions, SummaryFile, summarize

FIELDS = {
    "batch_index", "episodes", "avg_return", "min_return", "max_return", "median_return",
    "std_return", "duration_sec", "avg_length", "updated_at", "first_seed", "last_seed", "seed",
    "policy_path", "env_id", "algo", "deterministic",
}  # fmt: skip
CONDITIONS = Conditions("ppo.cleanrl_model", "ppo", "CartPole-v1", seed=7, deterministic=True)


def episode(number: int, total_reward: float, length: int = 10) -> FinishedEpisode:
    return FinishedEpisode(
        number, CONDITIONS.seed + number, total_reward, total_reward / 2, length, True, False
    )


def batch(index: int, first: int = 0, returns: tuple[float, ...] = (1.0, 2.0, 6.0)) -> BatchSummary:
    episodes = [episode(first + offset, value) for offset, value in enumerate(returns)]
    return summarize(CONDITIONS, index, episodes, duration_sec=0.5)


def test_figures_of_a_batch() -> None:
    summary = batch(1)
    assert (summary.episodes, summary.avg_return, summary.median_return) == (3, 3.0, 2.0)
    assert (summary.min_return, summary.max_return) == (1.0, 6.0)
    assert summary.std_return == pytest.approx(math.sqrt(14 / 3))
    assert (summary.avg_discounted_return, summary.avg_length) == (1.5, 10.0)
    assert (summary.first_seed, summary.last_seed, summary.total_steps) == (7, 9, 30)


def test_order_in_which_episodes_end_does_not_matter() -> None:
    episodes = [episode(number, 0.1 * number) for number in range(7)]
    forwards, backwards = (
        summarize(CONDITIONS, 1, given, duration_sec=0.0).metrics()
        for given in (episodes, episodes[::-1])
    )
    assert forwards == backwards


def test_file_holds_the_latest_batch_and_all_before(tmp_path: Path) -> None:
    file = SummaryFile(tmp_path)
    file.append(batch(1))
    file.append(batch(2, first=3))
    content = json.loads((tmp_path / "eval_summary.json").read_text())
    assert content["latest"] == content["history"][-1]
    assert [entry["batch_index"] for entry in content["history"]] == [1, 2]
    assert set(content["latest"]) >= FIELDS


def test_next_attempt_goes_on_after_the_last_batch(tmp_path: Path) -> None:
    fresh = SummaryFile(tmp_path)
    assert (fresh.next_batch_index, fresh.next_episode(CONDITIONS)) == (1, 0)
    fresh.append(batch(1))
    again = SummaryFile(tmp_path)
    assert (again.next_batch_index, again.next_episode(CONDITIONS)) == (2, 3)
    again.append(batch(2, first=3))
    content = json.loads((tmp_path / "eval_summary.json").read_text())
    assert [entry["batch_index"] for entry in content["history"]] == [1, 2]


@pytest.mark.parametrize(
    "change", [{"seed": 8}, {"policy_path": "b"}, {"env_id": "b"}, {"deterministic": False}]
)
def test_another_evaluation_begins_with_its_first_episode(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    SummaryFile(tmp_path).append(batch(1))
    other = SummaryFile(tmp_path)
    assert other.next_episode(replace(CONDITIONS, **change)) == 0
    assert other.next_batch_index == 2


@pytest.mark.parametrize("damage", ["", "{", "[]", '{"history": 3}', '{"history": [{"seed": 1}]}'])
def test_damaged_file_begins_anew(
    tmp_path: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "eval_summary.json").write_text(damage)
    with caplog.at_level(logging.WARNING):
        assert SummaryFile(tmp_path).next_batch_index == 1
    assert [record.message for record in caplog.records] == ["summary.discarded"]


def test_reader_never_sees_half_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = SummaryFile(tmp_path)
    file.append(batch(1))
    path = tmp_path / "eval_summary.json"
    before = path.read_bytes()
    seen: list[bytes] = []
    replace = os.replace

    def watched(source: os.PathLike[str], target: os.PathLike[str]) -> None:
        seen.append(path.read_bytes())  # everything is written, nothing is renamed
        replace(source, target)

    monkeypatch.setattr(os, "replace", watched)
    file.append(batch(2, first=3))
    assert seen == [before]
    assert len(json.loads(path.read_bytes())["history"]) == 2


def test_full_disk_does_not_end_the_evaluation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    file = SummaryFile(tmp_path)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(summary_module, "atomic_write_json", full)
        file.append(batch(1))
    assert [record.message for record in caplog.records] == ["summary.write_failed"]
    file.append(batch(2, first=3))
    assert len(json.loads((tmp_path / "eval_summary.json").read_text())["history"]) == 2


def test_history_of_an_endless_evaluation_is_bounded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(summary_module, "MAX_HISTORY", 3)
    file = SummaryFile(tmp_path)
    for index in range(1, 6):
        file.append(batch(index, first=3 * (index - 1)))
    again = SummaryFile(tmp_path)
    assert [entry["batch_index"] for entry in again.history] == [3, 4, 5]
    assert (again.next_batch_index, again.next_episode(CONDITIONS)) == (6, 15)


def test_returns_that_are_no_numbers_are_still_json(tmp_path: Path) -> None:
    SummaryFile(tmp_path).append(batch(1, returns=(math.inf, 1.0)))
    content = json.loads((tmp_path / "eval_summary.json").read_text())
    assert content["latest"]["max_return"] == "Infinity"
