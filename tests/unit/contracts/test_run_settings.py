"""A config's tree as one name per setting."""

from __future__ import annotations

from mosaic.contracts.run_settings import (
    LONGEST_VALUE,
    MOST_SETTINGS,
    setting_text,
    settings_of,
)


def config_of(settings: dict[str, object]) -> dict[str, object]:
    return {"run_name": "a run", "metadata": {"worker": {"config": settings}}}


def test_settings_have_short_names_and_the_outer_ones_come_first() -> None:
    settings = {
        "algo": "ppo",
        "seed": 1,
        "extras": {
            "cuda": False,
            "seed": 7,
            "algo_params": {"learning_rate": 0.001, "cuda": True, "layers": [64, 64]},
            "deep": {"er": None},
            "login": {"api_key": "a word nobody may see"},
        },
    }
    assert settings_of(config_of(settings)) == {
        "algo": "ppo",
        "seed": 1,
        "cuda": False,
        "learning_rate": 0.001,
        "layers": "[64, 64]",
        "deep.er": None,
    }


def test_a_config_that_is_none_has_no_settings() -> None:
    for config in ({}, {"metadata": 7}, {"metadata": {"worker": {"config": "text"}}}):
        assert settings_of(config) == {}


def test_there_is_a_limit_to_what_a_run_may_say() -> None:
    found = settings_of(config_of({f"key{number}": "x" * 10_000 for number in range(1000)}))
    assert len(found) == MOST_SETTINGS
    assert {len(str(value)) for value in found.values()} == {LONGEST_VALUE}


def test_values_read_as_people_write_them() -> None:
    values = (None, True, 500_000, 0.0003, 1e-8, "tanh")
    assert [setting_text(value) for value in values] == [
        *("none", "yes", "500,000", "0.0003", "1e-08", "tanh")
    ]


def test_what_a_name_calls_secret_is_left_out_with_all_it_holds() -> None:
    given = {"api_key": "x", "password": {"first": "x"}, "learning_rate": 0.1}
    assert settings_of(config_of(given)) == {"learning_rate": 0.1}
