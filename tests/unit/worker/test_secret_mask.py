"""Secrets do not get into the journal, and nothing else is changed on the way."""

from __future__ import annotations

import json

from mosaic.contracts.worker_environment import SECRET_NAMES
from mosaic.worker.journal import SecretMask

KEY = 'sk-"1234\\5678'


def line(**event: object) -> str:
    return json.dumps(event, separators=(",", ":")) + "\n"


def test_value_of_a_secret_variable_is_masked_wherever_it_stands() -> None:
    mask = SecretMask({"WANDB_API_KEY": KEY})
    said = line(seq=1, payload={KEY: [f"key={KEY}"], "shown": repr(KEY)})
    assert json.loads(mask.apply(said)) == {
        "seq": 1,
        "payload": {"***": ["key=***"], "shown": "'***'"},
    }


def test_variables_the_daemon_names_are_secret_too() -> None:
    mask = SecretMask({SECRET_NAMES: "LICENCE,OTHER", "LICENCE": "ABCD-EFGH", "PATH": "/usr/bin"})
    assert mask.apply(line(text="ABCD-EFGH in /usr/bin")) == line(text="*** in /usr/bin")


def test_secret_of_digits_leaves_numbers_and_the_fields_of_the_sdk_alone() -> None:
    mask = SecretMask({"PIN_TOKEN": "2024"})
    said = line(seq=2024, type="step", run_id="2024", reward=20245.5, info="pin 2024")
    assert mask.apply(said) == said.replace("pin 2024", "pin ***")


def test_lines_without_a_secret_pass_as_they_are() -> None:
    mask = SecretMask({"WANDB_API_KEY": KEY})
    lines = line(seq=1) + line(seq=2, text="sk-")
    assert mask.apply(lines + line(seq=3, text=KEY)) == lines + line(seq=3, text="***")


def test_longer_secret_is_masked_as_a_whole_when_a_shorter_one_begins_it() -> None:
    mask = SecretMask({"A_TOKEN": "abcd", "B_TOKEN": "abcdefgh"})
    assert mask.apply(line(text="abcdefgh abcd")) == line(text="*** ***")


def test_empty_and_tiny_values_hide_nothing() -> None:
    mask = SecretMask({"A_TOKEN": "", "B_TOKEN": "abc"})
    assert mask.apply(line(text="abc")) == line(text="abc")
