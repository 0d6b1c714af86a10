"""Which runs belong together, and what differs between groups."""

from __future__ import annotations

from mosaic.compare.groups import ABSENT, differences, equalities, recipe_key, seed_of
from tests.compare_samples import config_of


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
