"""What `mosaic trials` says of a study, once and while it changes."""

from __future__ import annotations

import argparse
import json
import math
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from mosaic.analytics.optuna.reader import open_studies
from mosaic.analytics.optuna.study import Study, Trial
from mosaic.cli.commands.trials import choose_study, find_study_file
from mosaic.cli.commands.trials_view import (
    StudyFollower,
    TrialChoice,
    say_problems,
    say_study,
    study_json,
)
from mosaic.errors import RequestError, StoreError

START = datetime(2026, 1, 1, 12)


def done(number: int, value: float, **params: object) -> Trial:
    end = START + timedelta(seconds=90)
    return Trial(number, "COMPLETE", [value], dict(params), started_at=START, ended_at=end)


def lines(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


def test_parameters_have_a_column_each_and_the_best_is_marked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trials = [
        done(0, 0.5, rate=1e-4, name="a\x1b[2J"),
        done(1, 2.0, rate=0.1, layers=3),
        Trial(2, "PRUNED", [9.0], {"rate": 1.0}),
        Trial(3, "WAITING"),
    ]
    say_study(Study("s\x07", ["MAXIMIZE"], trials=trials), TrialChoice())
    title, header, *rows = lines(capsys)
    assert (
        title == "s\N{REPLACEMENT CHARACTER}  maximize  4 trials: 2 complete, 1 pruned, 1 waiting"
    )
    assert header.split() == ["TRIAL", "VALUE", "STATE", "TIME", "rate", "layers", "name"]
    assert rows[0].split() == ["1", "best", "2", "complete", "1", "min", "30", "s", "0.1", "3", "-"]
    assert [row.split()[0] for row in rows] == ["1", "0", "2", "3"]
    assert "\x1b" not in "".join(rows)


@pytest.mark.parametrize("directions", [["MINIMIZE"], ["MINIMIZE", "MAXIMIZE"], []])
def test_an_empty_study_is_no_crash(
    directions: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    say_study(Study("s", directions), TrialChoice())
    assert lines(capsys)[-1] == "no trials"


def test_json_holds_what_is_not_finite() -> None:
    study = Study("s", ["MINIMIZE"], trials=[done(0, math.inf), done(1, math.nan)])
    data = study_json(study, TrialChoice(limit=1))
    assert [trial["number"] for trial in data["trials"]] == [0]
    assert data["best"] == [0]


def test_the_study_is_chosen_by_name_where_there_are_several() -> None:
    one, two = Study("one", ["MINIMIZE"]), Study("two", ["MINIMIZE"])
    path = Path("/x.db")
    assert choose_study([one], None, path) is one
    assert choose_study([one, two], "two", path) is two
    assert choose_study([one, two], None, path) is None
    with pytest.raises(RequestError, match="no study 'three'") as caught:
        choose_study([one, two], "three", path)
    assert "one, two" in caught.value.hint
    with pytest.raises(RequestError, match="holds no study yet"):
        choose_study([], None, path)


@pytest.mark.parametrize("text", ["/a/b.db", "sqlite:////a/b.db", "/a/./b.db"])
def test_a_path_is_a_path(text: str) -> None:
    assert find_study_file(argparse.Namespace(source=text)).parts[-2:] == ("a", "b.db")


class Scripted:
    """Gives one answer after the other."""

    def __init__(self, *answers: list[Study] | StoreError) -> None:
        self._answers = list(answers)

    def read(self) -> list[Study]:
        answer = self._answers.pop(0)
        if isinstance(answer, StoreError):
            raise answer
        return answer


def test_following_tells_only_what_is_new(capsys: pytest.CaptureFixture[str]) -> None:
    running = Study("s", ["MINIMIZE"], trials=[Trial(0, "RUNNING", params={"x": 1})])
    ended = Study("s", ["MINIMIZE"], trials=[done(0, 3.0, x=1), Trial(1, "RUNNING")])
    busy = StoreError("busy")
    follower = StudyFollower(
        Scripted([running], busy, [running], [ended], [ended]), None, TrialChoice(), as_json=True
    )
    said = []
    for _ in range(5):
        follower.look()
        said.append([json.loads(line) for line in lines(capsys)])
    assert [[(one["number"], one["state"]) for one in news] for news in said] == [
        [(0, "RUNNING")],
        [],
        [],
        [(0, "COMPLETE"), (1, "RUNNING")],
        [],
    ]
    assert said[3][0]["is_best"] is True


def test_following_another_study_of_the_file_is_silent(
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = Study("s", ["MINIMIZE"], trials=[done(0, 1.0)])
    StudyFollower(Scripted([study]), "other", TrialChoice(), as_json=False).look()
    assert lines(capsys) == []
    StudyFollower(Scripted([study]), "s", TrialChoice(), as_json=False).look()
    assert lines(capsys) == ["s  trial 0  complete  1  best"]


def test_a_file_that_is_no_journal_is_said_in_few_words(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "junk.journal"
    path.write_bytes(b"\xff\xfe" * 5000 + b"\n" + b"{}\n" * 50)
    reader = open_studies(path)
    assert reader.read() == []
    say_problems(reader)
    said = capsys.readouterr().err.splitlines()
    assert said[-1] == "and 17 more"
    assert len(said) == 4
    assert max(map(len, said)) < 300 + len(str(path))
