"""`mosaic compare` from its words to its tables, with a client in memory."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from mosaic.cli.commands import compare
from mosaic.cli.commands.compare import say_comparison
from mosaic.cli.main import main
from mosaic.compare import requirements
from mosaic.errors import DependencyError, RequestError
from tests.compare_samples import sample_comparison


def test_missing_packages_are_named_with_the_way_to_get_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requirements, "PACKAGES", ("numpy", "no_such_package_here"))
    with pytest.raises(DependencyError, match="needs no_such_package_here") as refusal:
        requirements.require_packages()
    assert "mosaic-rl[compare]" in refusal.value.hint


@pytest.mark.parametrize("number", ["0", "-3", "x"])
def test_last_is_a_positive_number(number: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "a", "--last", number]) == 2
    assert "--last" in capsys.readouterr().err


def test_places_that_cannot_be_written_are_refused_before_any_work(tmp_path: Path) -> None:
    for out, png in (
        (str(tmp_path), None),
        (str(tmp_path / "no" / "such.html"), None),
        (str(tmp_path / "x"), str(tmp_path / "x")),
    ):
        with pytest.raises(RequestError):
            compare.compare_runs(argparse.Namespace(out=out, png=png, what=["a"]))


def test_the_terminal_shows_verdicts_tables_and_differences(
    capsys: pytest.CaptureFixture[str],
) -> None:
    say_comparison(sample_comparison([[4, 5, 6], [1, 2, 3]], ["good\x1b[31m", "bad"]), True)
    text = capsys.readouterr().out
    assert "\x1b[31m" not in text
    assert "P(improvement)" in text and "IQM" in text and "learning_rate" in text
    assert "What is equal" in text and "CartPole-v1" in text


def test_many_groups_and_single_ones_fit_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    say_comparison(sample_comparison([[n, n + 1.0] for n in range(5)]))
    assert capsys.readouterr().out.count("not told apart") == 10
    say_comparison(sample_comparison([[3.0]]))
    assert "One seed says nothing" in capsys.readouterr().out
