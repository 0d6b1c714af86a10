"""retention.toml: what it may say, and that a mistake in it deletes nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from mosaic.contracts.keeping import RetentionPolicy, parse_size
from mosaic.daemon.keeping.retention import KeepingSettings, read_settings
from mosaic.errors import ConfigError


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
