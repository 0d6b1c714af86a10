"""Which runs go and why, and that a mistake in retention.toml deletes nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.keeping import RetentionPolicy, parse_size
from mosaic.daemon.keeping.retention import (
    DAY_S,
    KeepingSettings,
    KeptRun,
    check_policy,
    plan,
    read_settings,
)
from mosaic.errors import ConfigError

NOW = 1_000 * DAY_S


def run(name: str, days: float = 1.0, **fields: Any) -> KeptRun:
    ended = NOW - days * DAY_S
    values: dict[str, Any] = {
        "run_id": name,
        "run_name": f"run {name}",
        "worker": "w",
        "env_id": "e",
        "bytes": 100,
        "is_over": True,
        "pinned": False,
        "is_needed": False,
        "finished_at": ended,
        "updated_at": ended,
        "mean_return": None,
    }
    return KeptRun(**{**values, **fields})


def gone(policy: RetentionPolicy, *runs: KeptRun) -> list[str]:
    return [choice.run_id for choice in plan(policy, runs, NOW).deleted]


def test_old_runs_go_the_oldest_first() -> None:
    result = plan(RetentionPolicy(max_age_days=5), [run("b", 6), run("c", 4), run("a", 9)], NOW)
    assert [choice.run_id for choice in result.deleted] == ["a", "b"]
    assert {choice.reason for choice in result.deleted} == {"older than 5 days"}
    assert (result.kept, result.kept_bytes) == (1, 100)


def test_a_run_that_came_from_elsewhere_is_as_old_as_its_stay() -> None:
    assert gone(RetentionPolicy(max_age_days=5), run("a", 90, updated_at=NOW - DAY_S)) == []


@pytest.mark.parametrize("shield", [{"pinned": True}, {"is_needed": True}, {"is_over": False}])
@pytest.mark.parametrize(
    "policy",
    [
        RetentionPolicy(max_age_days=0),
        RetentionPolicy(max_total_bytes=0),
        RetentionPolicy(keep_last=0),
        RetentionPolicy(keep_best=0),
    ],
)
def test_some_runs_never_go(shield: dict[str, bool], policy: RetentionPolicy) -> None:
    assert gone(policy, run("a", 500, **shield), run("b", 500)) == ["b"]


def test_the_oldest_go_until_the_rest_is_small_enough() -> None:
    runs = [run("a", 3), run("b", 2), run("c", 1), run("live", 0, is_over=False, bytes=50)]
    assert gone(RetentionPolicy(max_total_bytes=350), *runs) == []
    assert gone(RetentionPolicy(max_total_bytes=250), *runs) == ["a"]
    assert gone(RetentionPolicy(max_total_bytes=249), *runs) == ["a", "b"]
    assert gone(RetentionPolicy(max_total_bytes=1), *runs) == ["a", "b", "c"]


def test_what_age_frees_counts_for_the_size() -> None:
    runs = [run("a", 30), run("b", 2), run("c", 1)]
    result = plan(RetentionPolicy(max_age_days=20, max_total_bytes=200), runs, NOW)
    assert [(c.run_id, c.reason) for c in result.deleted] == [("a", "older than 20 days")]


def test_the_last_stay_also_when_they_are_old() -> None:
    runs = [run("a", 30), run("b", 20), run("c", 10)]
    assert gone(RetentionPolicy(max_age_days=5, keep_last=2), *runs) == ["a"]
    assert gone(RetentionPolicy(max_age_days=5, keep_last=0), *runs) == ["a", "b", "c"]
    assert gone(RetentionPolicy(max_age_days=5, keep_last=99), *runs) == []


def test_the_best_of_each_environment_and_worker_stay() -> None:
    runs = [
        run("a", 3, mean_return=1.0),
        run("b", 2, mean_return=9.0),
        run("c", 1, mean_return=5.0),
        run("d", 1, mean_return=-7.0, env_id="other"),
        run("e", 1, mean_return=-8.0, worker="another"),
        run("nan", 1, mean_return=float("nan")),
        run("none", 1),
    ]
    assert gone(RetentionPolicy(keep_best=1), *runs) == ["a", "c", "nan", "none"]
    assert gone(RetentionPolicy(keep_best=2), *runs) == ["a", "nan", "none"]


def test_only_saying_what_to_keep_lets_the_rest_go_with_a_reason() -> None:
    runs = [run("a", 3, mean_return=1.0), run("b", 2), run("c", 1)]
    result = plan(RetentionPolicy(keep_last=1, keep_best=1), runs, NOW)
    assert [(c.run_id, c.reason) for c in result.deleted] == [
        ("b", "not among the last 1 or the best 1 of its environment and worker")
    ]


def test_of_equal_returns_the_newer_is_the_better() -> None:
    runs = [run("old", 3, mean_return=2.0), run("new", 1, mean_return=2.0)]
    assert gone(RetentionPolicy(keep_best=1), *runs) == ["old"]


def test_a_clock_set_back_deletes_nothing() -> None:
    assert gone(RetentionPolicy(max_age_days=1), run("from the future", -400)) == []


@pytest.mark.parametrize(
    "policy",
    [
        RetentionPolicy(),
        RetentionPolicy(max_age_days=-1),
        RetentionPolicy(max_age_days=float("nan")),
        RetentionPolicy(max_total_bytes=-1),
        RetentionPolicy(keep_last=-1),
    ],
)
def test_a_policy_that_says_nothing_or_nonsense_is_refused(policy: RetentionPolicy) -> None:
    with pytest.raises(ConfigError):
        check_policy(policy)


def test_no_runs_no_choices() -> None:
    assert plan(RetentionPolicy(max_age_days=0), [], NOW).deleted == ()


def read(tmp_path: Path, text: str) -> KeepingSettings:
    path = tmp_path / "retention.toml"
    path.write_text(text)
    return read_settings(path)


def test_without_a_file_nothing_is_deleted_and_the_trash_keeps_a_week(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "none.toml") == KeepingSettings(None, 7.0)
    assert read(tmp_path, "") == KeepingSettings(None, 7.0)


def test_all_rules(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        "[retention]\nmax_age_days = 90\nmax_total_size = '200GB'\nkeep_last = 20\nkeep_best = 3\n"
        "[trash]\nkeep_days = 0.5\n",
    )
    assert found.policy == RetentionPolicy(90.0, 200_000_000_000, 20, 3)
    assert found.trash_keep_days == 0.5


@pytest.mark.parametrize(
    "text",
    [
        "[retention]",
        "[retention]\nmax_age = 3",
        "[retension]\nmax_age_days = 3",
        "[retention]\nmax_age_days = -3",
        "[retention]\nmax_age_days = nan",
        "[retention]\nmax_age_days = true",
        "[retention]\nmax_age_days = '3'",
        "[retention]\nkeep_last = 1.5",
        "[retention]\nmax_total_size = 'much'",
        "[retention]\nmax_total_size = -5",
        "[trash]\nkeep_days = 'ever'",
        "retention = 3",
        "no toml",
        "\x00",
    ],
)
def test_nonsense_is_refused_by_name(tmp_path: Path, text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, text)
    assert caught.value.details["field"]


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("20GB", 20_000_000_000),
        ("20 gb", 20_000_000_000),
        ("1.5T", 1_500_000_000_000),
        ("512MiB", 512 * 1024**2),
        (".5k", 500),
        ("7", 7),
        (7, 7),
        ("0", 0),
    ],
)
def test_sizes(text: object, size: int) -> None:
    assert parse_size(text, "x") == size


@pytest.mark.parametrize(
    "text", ["", "GB", "-1GB", "1e9", "nan", "20XB", "1" * 50, None, 1.5, True, "2 0 GB"]
)
def test_what_is_no_size(text: object) -> None:
    with pytest.raises(ConfigError):
        parse_size(text, "x")


@pytest.mark.parametrize(
    "rule",
    [
        "retention.max_age_days",
        "retention.max_total_size",
        "retention.keep_last",
        "retention.keep_best",
        "trash.keep_days",
    ],
)
@pytest.mark.parametrize(
    "number",
    ["9" * 6000, "9" * 400, "1e308", "nan", "inf", "-1", "true", "'1e308'", "[1]", "1979-05-27"],
    ids=lambda text: text[:10],
)
def test_numbers_beyond_all_bounds_are_refused(tmp_path: Path, rule: str, number: str) -> None:
    table, name = rule.split(".")
    with pytest.raises(ConfigError) as caught:
        read(tmp_path, f"[{table}]\n{name} = {number}\n")
    is_unreadable = len(number) == 6000  # Python itself refuses, without a place
    assert is_unreadable or str(caught.value.details["field"]).endswith(name)
    assert len(caught.value.message) < 300
