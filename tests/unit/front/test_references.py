"""Which run is meant by what a person types."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import pytest

from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import RunState
from mosaic.errors import RequestError, UnknownRunError
from mosaic.front.references import resolve_run, resolve_runs

RUN = RunRecord("", "", "some", RunState.EXEC, None, 1, 0, 0.0, 0.0)
FIRST = replace(RUN, run_id="01HAAAAAAAAAAAAAAAAAAAAA01", run_name="first")
SECOND = replace(RUN, run_id="01HAAAAAAAAAAAAAAAAAAAAB02", run_name="twin")
THIRD = replace(RUN, run_id="01HBBBBBBBBBBBBBBBBBBBBB03", run_name="twin")
FOURTH = replace(RUN, run_id="01HCCCCCCCCCCCCCCCCCCCCC04", run_name="B03X")


@dataclass
class Lister:
    runs: list[RunRecord]
    limits: list[int] = field(default_factory=list)

    def list_runs(self, *, limit: int) -> list[RunRecord]:
        self.limits.append(limit)
        return self.runs[:limit] if limit else self.runs


ALL = [FOURTH, THIRD, SECOND, FIRST]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("latest", FOURTH),
        ("@last", FOURTH),
        ("LATEST", FOURTH),
        ("first", FIRST),
        ("01HB", THIRD),
        ("01hb", THIRD),
        ("BB03", THIRD),
        ("bb03", THIRD),
        ("AA01", FIRST),
        ("B03X", FOURTH),
        (SECOND.run_id.lower(), SECOND),
    ],
)
def test_reference_finds_its_run(text: str, expected: RunRecord) -> None:
    assert resolve_run(Lister(ALL), text) == expected.run_id


def test_full_id_asks_nothing() -> None:
    lister = Lister([])
    assert resolve_run(lister, FIRST.run_id) == FIRST.run_id
    assert lister.limits == []


def test_latest_asks_for_one_run_only() -> None:
    lister = Lister(ALL)
    resolve_run(lister, "latest")
    assert lister.limits == [1]


@pytest.mark.parametrize("text", ["twin", "01HA", "01H"])
def test_several_candidates_are_listed_not_guessed(text: str) -> None:
    if text == "01H":
        with pytest.raises(UnknownRunError) as too_short:
            resolve_run(Lister(ALL), text)
        assert "4 characters" in too_short.value.hint
        return
    with pytest.raises(RequestError) as caught:
        resolve_run(Lister(ALL), text)
    assert len(caught.value.details["candidates"]) == 2
    for run_id in caught.value.details["candidates"]:
        assert run_id in caught.value.message


def test_long_list_of_candidates_is_cut() -> None:
    runs = [replace(FIRST, run_id=f"01HAAAAAAAAAAAAAAAAAAAAA{n:02}") for n in range(30)]
    with pytest.raises(RequestError, match="and 20 more"):
        resolve_run(Lister(runs), "01HA")


@pytest.mark.parametrize("text", ["nothing", "", "ZZZZ", "../x"])
def test_no_candidate_is_an_unknown_run(text: str) -> None:
    with pytest.raises(UnknownRunError) as caught:
        resolve_run(Lister(ALL), text)
    assert caught.value.exit_status == 4


def test_latest_of_nothing_says_how_to_begin() -> None:
    with pytest.raises(UnknownRunError) as caught:
        resolve_run(Lister([]), "latest")
    assert "mosaic train" in caught.value.hint


def test_a_group_stands_for_its_runs_oldest_first_and_each_counts_once() -> None:
    grouped = [replace(run, group="seeds") for run in (THIRD, SECOND)]
    lister = Lister([FOURTH, *grouped, FIRST])
    assert resolve_runs(lister, ["seeds"]) == [SECOND.run_id, THIRD.run_id]
    assert resolve_runs(lister, ["first", "seeds", THIRD.run_id]) == [
        FIRST.run_id,
        SECOND.run_id,
        THIRD.run_id,
    ]
    with pytest.raises(UnknownRunError):
        resolve_runs(lister, ["seeds", "nobody"])


SEEDS = [replace(run, run_name=f"ours-seed{n}") for n, run in ((3, THIRD), (1, FIRST))]


def test_the_name_without_the_seed_means_the_only_run_of_it() -> None:
    lister = Lister([FOURTH, SEEDS[0], SECOND])
    assert resolve_run(lister, "ours") == THIRD.run_id
    assert resolve_runs(lister, ["ours"]) == [THIRD.run_id]


def test_where_one_run_is_needed_a_group_is_told_and_none_is_picked() -> None:
    lister = Lister([FOURTH, *SEEDS])
    with pytest.raises(RequestError, match="'ours' is a group of 2 runs") as caught:
        resolve_run(lister, "ours")
    assert caught.value.details["candidates"] == [FIRST.run_id, THIRD.run_id]
    assert resolve_runs(lister, ["ours"]) == [FIRST.run_id, THIRD.run_id]


def test_a_run_of_that_very_name_comes_before_its_seeds() -> None:
    own = replace(FOURTH, run_name="ours")
    assert resolve_run(Lister([*SEEDS, own]), "ours") == own.run_id
    assert resolve_runs(Lister([*SEEDS, own]), ["ours"]) == [own.run_id]


def test_runs_of_the_same_name_are_no_group() -> None:
    for resolve in (resolve_run, lambda lister, text: resolve_runs(lister, [text])):
        with pytest.raises(RequestError, match="could be 2 runs"):
            resolve(Lister(ALL), "twin")


@pytest.mark.parametrize("text", ["", "our", "seed1", "-seed1", "ours-seed"])
def test_a_piece_of_a_name_is_no_group(text: str) -> None:
    with pytest.raises(UnknownRunError):
        resolve_runs(Lister([*SEEDS]), [text])
