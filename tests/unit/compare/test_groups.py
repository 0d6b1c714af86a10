"""What the words of the command line mean, which runs form a group, and how groups differ."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from mosaic.compare.groups import (
    ABSENT,
    RunGroup,
    Selection,
    differences,
    equalities,
    form_groups,
    missing_ancestors,
    recipe_key,
    seed_of,
    select,
)
from mosaic.contracts.run_record import Lineage, LineageKind, RunRecord
from mosaic.errors import RequestError, UnknownRunError
from tests.compare_samples import config_of, run_record

A = [run_record(n, f"a-seed{n}", group="a") for n in (1, 2, 3)]
B = [run_record(n, f"b-seed{n - 10}", settings={"gamma": 0.9}) for n in (11, 12)]
RUNS = [*reversed(B), *reversed(A)]  # newest first, as a list of runs comes


def chosen(word: str, runs: Sequence[RunRecord] = RUNS) -> Selection:
    return select(word, runs)


def formed(*words: str, runs: Sequence[RunRecord] = RUNS) -> list[RunGroup]:
    records = {run.run_id: run for run in runs}
    return form_groups([chosen(word, runs) for word in words], records)


def test_a_group_name_means_all_its_runs_in_the_order_they_were_submitted() -> None:
    assert chosen("a").run_ids == tuple(run.run_id for run in A)


def test_seeds_that_were_started_one_by_one_are_a_group_too() -> None:
    assert chosen("b").run_ids == tuple(run.run_id for run in B)


def test_the_latest_run_is_a_run_too() -> None:
    assert chosen("LATEST").run_ids == (RUNS[0].run_id,)


def test_a_beginning_of_names_means_these_runs() -> None:
    assert chosen("b-").run_ids == tuple(run.run_id for run in B)


def test_a_single_run_is_found_by_name_or_part_of_its_id() -> None:
    assert chosen("a-seed2").run_ids == (A[1].run_id,)
    assert chosen("T0011").run_ids == (B[0].run_id,)


def test_a_label_binds_runs_whatever_they_are() -> None:
    groups = formed("mine=a-seed1,b-seed1")
    assert [group.label for group in groups] == ["mine"]
    assert "differ in more than their seed: gamma" in groups[0].notes[0]


def test_single_runs_find_together_when_only_their_seed_differs() -> None:
    groups = formed("b-seed1", "a-seed1", "b-seed2")
    assert [(group.label, group.seeds) for group in groups] == [("b", (11, 12)), ("a", (1,))]


def test_one_group_name_with_two_recipes_is_two_groups_told_apart_by_what_differs() -> None:
    other = run_record(4, "a-seed4", group="a", settings={"gamma": 0.5})
    groups = formed("a", runs=[other, *RUNS])
    assert [group.label for group in groups] == ["a (gamma=(not set))", "a (gamma=0.5)"]


def test_the_same_run_twice_counts_once() -> None:
    assert len(formed("a-seed1", "a-seed1", "a")[0].runs) == 3


def test_a_run_cannot_be_on_both_sides() -> None:
    with pytest.raises(RequestError, match="is in two groups"):
        formed("x=a-seed1", "y=a-seed1")


def test_a_repeated_seed_is_said() -> None:
    twin = run_record(1, "a-seed1", group="a", run_id="01KATF461V3681NE4E0T3T9999")
    assert "more than one run with seed 1" in formed("a", runs=[twin, *RUNS])[0].notes[0]


def test_runs_without_config_stay_alone() -> None:
    old = [run_record(n, f"old-{n}", config={}) for n in (21, 22)]
    assert len(formed("old-21", "old-22", runs=old)) == 2


@pytest.mark.parametrize("word", ["x=", "=a-seed1", "x=,", "="])
def test_half_a_label_is_refused(word: str) -> None:
    with pytest.raises(RequestError, match="is no group"):
        chosen(word)


@pytest.mark.parametrize("word", ["nothing-like-it", "x=nothing-like-it", ""])
def test_unknown_runs_are_refused(word: str) -> None:
    with pytest.raises(UnknownRunError):
        chosen(word)


def test_runs_that_differ_only_in_their_seed_have_one_recipe() -> None:
    assert recipe_key(config_of(seed=1)) == recipe_key(config_of(seed=2))
    assert recipe_key(config_of(seed=1)) != recipe_key(config_of(seed=1, learning_rate=0.1))


def test_resources_and_labels_are_no_part_of_a_recipe() -> None:
    one, two = config_of(), config_of()
    two["resources"]["cpus"] = 8
    two["run_name"] = "another"
    two["metadata"]["group"] = "mine"
    assert recipe_key(one) == recipe_key(two)


def test_a_seed_on_the_command_line_counts_as_seed() -> None:
    commands = [["train.py", "--seed", "1", "--lr", "2"], ["train.py", "--lr", "2", "--seed=7"]]
    configs = [{"entry_point": "script", "arguments": words} for words in commands]
    assert recipe_key(configs[0]) == recipe_key(configs[1])
    assert [seed_of(config) for config in configs] == [1, 7]


def test_a_seed_that_is_missing_or_no_number_is_unknown() -> None:
    assert seed_of({}) is None
    assert seed_of({"arguments": ["--seed"]}) is None
    assert seed_of({"arguments": ["--seed=abc"]}) is None


def test_differences_leave_out_seeds_and_shorten_the_workers_parameters() -> None:
    fast = [config_of(seed, extras={"algo_params": {"learning_rate": 0.1}}) for seed in (1, 2)]
    slow = [config_of(seed, gamma=0.9) for seed in (1, 2)]
    found = {item.path: item.values for item in differences([fast, slow])}
    assert found == {"learning_rate": ("0.1", ABSENT), "gamma": (ABSENT, "0.9")}
    assert {item.path for item in equalities([fast, slow])} >= {"algo", "env_id", "entry_point"}


def test_a_group_that_does_not_agree_shows_all_its_values() -> None:
    mixed = [config_of(1, gamma=0.9), config_of(2, gamma=0.8)]
    found = {item.path: item.values for item in differences([mixed, [config_of(3, gamma=0.9)]])}
    assert found == {"gamma": ("0.9, 0.8", "0.9")}


RESUMED = run_record(
    31,
    "a-seed2-on",
    config={"metadata": {"worker": {"config": {"mode": "resume_training"}}}},
    lineage=Lineage(A[1].run_id, LineageKind.RESUMED, 500),
)


def test_a_resumed_run_is_the_seed_it_continues_and_counts_once() -> None:
    (group,) = formed("a", "a-seed2-on", runs=[RESUMED, *RUNS])
    assert group.label == "a" and group.notes == ()
    assert [run.run_name for run in group.runs] == ["a-seed1", "a-seed3", "a-seed2-on"]
    assert group.seeds == (1, 3, 2)
    assert [one.run_name for one in group.ancestors[RESUMED.run_id]] == ["a-seed2"]


def test_two_that_continue_one_run_are_not_independent() -> None:
    twin = run_record(32, "a-seed2-too", config=RESUMED.config, lineage=RESUMED.lineage)
    (group,) = formed("a-seed2-on", "a-seed2-too", runs=[twin, RESUMED, *RUNS])
    assert group.seeds == (2, 2) and "not independent" in group.notes[0]


def test_a_resumed_run_stays_where_its_label_puts_it() -> None:
    before, after = formed("before=a-seed2", "after=a-seed2-on", runs=[RESUMED, *RUNS])
    assert [run.run_name for run in before.runs] == ["a-seed2"]
    assert [run.run_name for run in after.runs] == ["a-seed2-on"]


def test_the_runs_before_those_that_were_chosen_are_asked_for_as_well() -> None:
    known = {run.run_id: run for run in (RESUMED, *RUNS)}
    assert missing_ancestors({RESUMED.run_id: RESUMED}, known) == [A[1].run_id]
    assert missing_ancestors(known, known) == []
    assert missing_ancestors({A[0].run_id: A[0]}, known) == []
