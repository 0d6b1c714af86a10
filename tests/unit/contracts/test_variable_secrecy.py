"""Values of variables are secret unless their names are known to be harmless."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.secrets import (
    PLAIN_NAMES,
    PLAIN_NAMES_BY_PURPOSE,
    PLAIN_PREFIXES,
    SecrecyRules,
    is_reference,
    is_secret_name,
    redact_config,
    referenced_names,
    secret_values,
)

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
NONE = SecrecyRules()
PAGE = Path(__file__).parents[3] / "docs/reference/secrets.md"


def test_only_names_of_the_list_are_plain() -> None:
    environment = {
        "OMP_NUM_THREADS": "4", "LC_ALL": "C", "MUJOCO_GL": "egl", "WANDB_MODE": "offline",
        "EMPTY": "", "WANDB_API_KEY": "k", "DATA_DIR": "/data", "ANYTHING": "1",
    }  # fmt: skip
    assert secret_values(environment, NONE) == {
        "WANDB_API_KEY": "k", "DATA_DIR": "/data", "ANYTHING": "1",
    }  # fmt: skip


def test_no_name_of_the_list_looks_secret() -> None:
    assert [name for name in PLAIN_NAMES if is_secret_name(name)] == []


def test_the_page_lists_every_name_that_is_plain() -> None:
    page = PAGE.read_text()
    for purpose, names in PLAIN_NAMES_BY_PURPOSE.items():
        row = next(line for line in page.splitlines() if line.startswith(f"| {purpose} |"))
        assert row.split("`")[1::2] == names.split()
    assert all(f"`{prefix}*`" in page for prefix in PLAIN_PREFIXES)


def test_people_can_declare_names_plain_and_secret_and_secret_wins() -> None:
    rules = SecrecyRules.of(
        {"MOSAIC_PLAIN_ENV": "DATA_DIR, MODE\nBOTH", "MOSAIC_SECRET_ENV": "BOTH,TZ"}
    )
    environment = dict.fromkeys(("DATA_DIR", "MODE", "BOTH", "TZ", "OTHER"), "x")
    assert set(secret_values(environment, rules)) == {"BOTH", "TZ", "OTHER"}


def test_a_config_declares_its_own_variables_plain() -> None:
    config = {
        "environment": {"DATA_DIR": "/data", "OTHER": "1", "A_TOKEN": "t"},
        "metadata": {"plain_environment": ["DATA_DIR", "A_TOKEN"]},
    }
    stored = redact_config(config, RUN, NONE)
    assert stored["environment"] == {
        "DATA_DIR": "/data",
        "OTHER": f"secret://{RUN}/OTHER",
        "A_TOKEN": f"secret://{RUN}/A_TOKEN",
    }


@pytest.mark.parametrize("name", ["WANDB_API_KEY", "PGPASSWORD", "GITHUB_PAT", "TOKEN1"])
def test_a_name_that_looks_secret_cannot_be_declared_plain(name: str) -> None:
    rules = SecrecyRules.of({"MOSAIC_PLAIN_ENV": name})
    assert secret_values({name: "x"}, rules) == {name: "x"}


def test_a_password_in_a_url_is_secret_whatever_the_name_says() -> None:
    assert secret_values({"WANDB_PROJECT": "https://me:pw@host"}, NONE)
    assert secret_values({"MINE": "a://b:c@d"}, SecrecyRules(plain_names=frozenset({"MINE"})))


def test_the_stored_config_refers_to_values_and_leaves_the_original_alone() -> None:
    raw = {"run_name": "a", "environment": {"WANDB_API_KEY": "canary", "SEED": "1"}}
    stored = redact_config(raw, RUN, NONE)
    assert stored["environment"] == {"WANDB_API_KEY": f"secret://{RUN}/WANDB_API_KEY", "SEED": "1"}
    assert "canary" not in json.dumps(stored)
    assert raw["environment"] == {"WANDB_API_KEY": "canary", "SEED": "1"}
    assert referenced_names(stored["environment"]) == ["WANDB_API_KEY"]
    assert redact_config(stored, RUN, NONE) == stored
    assert redact_config(stored, RUN.replace("5", "7"), NONE) == stored, "it says whose it was"


@pytest.mark.parametrize(
    "value",
    ["secret://canary", f"secret://{RUN}/OTHER", f"secret://{RUN}/X/X", "secret:///X", f"{RUN}/X"],
)
def test_a_value_that_only_begins_like_a_reference_is_a_value(value: str) -> None:
    assert not is_reference("X", value)
    stored = redact_config({"environment": {"X": value}}, RUN, NONE)
    assert stored["environment"] == {"X": f"secret://{RUN}/X"}


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"environment": None},
        {"environment": ["A=canary"]},
        {"environment": {"A": "x"}, "metadata": 7},
        {"environment": {"A": "x"}, "metadata": {"plain_environment": [1, None, {"A": 1}]}},
        {"environment": {"A": "x"}, "metadata": {"plain_environment": "A"}},
        {"environment": {"A": 7, "B": ["canary"], "C": {"D": "canary"}, "": "x"}},
    ],
)
def test_any_parsed_object_can_be_redacted(config: dict[str, Any]) -> None:
    stored = redact_config(config, RUN, NONE)
    environment = stored.get("environment")
    if isinstance(environment, dict):
        assert all(is_reference(name, value) for name, value in environment.items())


def test_masked_are_values_of_telling_names_and_values_that_look_made_up() -> None:
    rules = SecrecyRules(secret_names=frozenset({"LICENCE"}))
    masked = {
        "WANDB_API_KEY": "true", "LICENCE": "word", "X": "sk-9Q8w7E6r5T", "Y": "a://b:c@d",
        "Z": "8f14e45fceea167a5a36dedd4bea2543",
    }  # fmt: skip
    shown = {"A": "1", "B": "true", "C": "/usr/bin", "D": "production", "E": "10000000"}
    assert all(rules.is_masked(name, value) for name, value in masked.items())
    assert not any(rules.is_masked(name, value) for name, value in shown.items())
