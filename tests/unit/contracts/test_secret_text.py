"""How values are spelled, and which of them are ordinary text."""

from __future__ import annotations

import base64
import json
import shlex
import urllib.parse
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mosaic.contracts.consent import names_module
from mosaic.contracts.secret_text import is_ordinary_text, secret_spellings, url_passwords

# A quote of each kind, a backslash, a space, a slash, something beyond ASCII.
AWKWARD = 'it\'s "p/w" \\ä+&?%~!(1)'
PLAIN = "sk-9Q8w7E6r5T4y3U2i1O"

SPELLINGS: dict[str, Callable[[str], str]] = {
    "as it is": lambda value: value,
    "JSON": lambda value: json.dumps({"key": value}),
    "JSON in Unicode": lambda value: json.dumps(value, ensure_ascii=False),
    "JSON in JSON": lambda value: json.dumps(json.dumps(value)),
    "Python": repr,
    "Python in JSON": lambda value: json.dumps(repr(value)),
    "an exception": lambda value: repr(RuntimeError(f'"no" {value}')),
    "bytes": lambda value: repr(value.encode()),
    "bytes in a list": lambda value: str([b"'" + value.encode() + b'"']),
    "shell": shlex.quote,
    "URL": lambda value: "https://host/?key=" + urllib.parse.quote(value),
    "URL, everything": lambda value: urllib.parse.quote(value, safe=""),
    "form": urllib.parse.quote_plus,
    "browser": lambda value: urllib.parse.quote(value, safe="!'()*~"),
    "base64": lambda value: base64.b64encode(value.encode()).decode(),
    "base64 for URLs": lambda value: base64.urlsafe_b64encode(value.encode()).decode(),
    "basic authorization": lambda value: base64.b64encode(f"me:{value}".encode()).decode(),
    "longer base64": lambda value: base64.b64encode(f"user:{value}@host".encode()).decode(),
    "hex": lambda value: value.encode().hex(),
    "HEX": lambda value: value.encode().hex().upper(),
}  # fmt: skip


def masked(text: str, value: str) -> str:
    for spelling in sorted(secret_spellings(value), key=len, reverse=True):
        text = text.replace(spelling, "***")
    return text


@pytest.mark.parametrize("value", [AWKWARD, PLAIN], ids=["awkward", "plain"])
@pytest.mark.parametrize("how", SPELLINGS)
def test_every_way_a_program_prints_a_value_is_a_spelling(how: str, value: str) -> None:
    text = SPELLINGS[how](value)
    hidden = masked(text, value)
    assert "***" in hidden
    for length in (6, 10):
        pieces = {text[n : n + length] for n in range(len(text) - length)}
        told = {piece for piece in pieces if piece in hidden and piece in value}
        assert not told, f"{text} became {hidden}"


def test_percent_escapes_come_in_small_letters_too() -> None:
    assert masked("%c3%a4%2fx%c3%a4", "ä/xä") == "***"


@given(
    st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=7, max_size=40).filter(
        lambda value: value.strip() == value
    ),
    st.binary(max_size=4),
    st.binary(max_size=4),
)
def test_no_neighbours_hide_a_value_in_base64(value: str, before: bytes, after: bytes) -> None:
    text = base64.b64encode(before + value.encode() + after).decode()
    rest = masked(text, value)
    # What is left of it are the characters it shares with its neighbours.
    assert "***" in rest and len(rest.replace("***", "")) <= 4 * (len(before) + len(after)) + 8


def test_the_password_of_a_url_and_the_lines_of_a_key_are_hidden_by_themselves() -> None:
    assert masked("user me, password hunter22", "pg://me:hunter22@db/x").endswith("password ***")
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0\nBAQEFAASCBKcwggSjAgE\n-----END KEY-----"
    assert masked("  1 MIIEvQIBADANBgkqhkiG9w0\n  2 -----END KEY-----", key) == (
        "  1 ***\n  2 -----END KEY-----"
    )


def test_long_values_are_found_in_the_lines_of_wrapped_base64() -> None:
    value = "Ab1!" * 60
    wrapped = base64.encodebytes(value.encode()).decode()
    assert set(masked(wrapped, value).split()) <= {"***", "***="}


def test_short_values_have_no_spelling_because_they_would_shred_ordinary_text() -> None:
    assert secret_spellings("") == secret_spellings("a") == secret_spellings("yes") == set()


ORDINARY = """
1 0 true false none egl offline /usr/bin /home/me/data/run3 localhost:8080 http://host:9000/path
production MyExperiment ppo-CartPole-v1-seed12 10000000 0.00025 1e-05 2024-11-16 cuda:0,1 INFO
a,b,c,d,e ~/projects/agents https://example.org/index.html --xla_flag=2 UPPER_CASE_WORDS hunter2
"""


@pytest.mark.parametrize("value", ORDINARY.split())
def test_ordinary_values_are_no_reason_to_garble_a_log(value: str) -> None:
    assert is_ordinary_text(value)


@pytest.mark.parametrize(
    "value",
    [
        "sk-9Q8w7E6r5T",
        "8f14e45fceea167a5a36dedd4bea2543",
        "ghp_16C7e42F292c6912E7710c838347Ae178B4a",
        "3f2504e0-4f89-11d3-9a0c-0305e82c3301",
        "AKIAIOSFODNN7EXAMPLE",
        "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
        "hk7-2jd-9xq-p01",
        "pa$$word!",
        "abcdefghijklmnopqrstuvwxyz",
        "4111111111111111",
        "dGhpcyBpcyBhIHNlY3JldA==",
    ],
)
def test_what_a_generator_made_is_not_ordinary(value: str) -> None:
    assert not is_ordinary_text(value)


@pytest.mark.timeout(20)
@pytest.mark.parametrize("piece", ["a", "a.", "a:", "a/", "://", "a@", "a://b:"])
def test_a_long_text_is_gone_through_once(piece: str) -> None:
    """An expression that starts anew at every letter would take minutes for it."""
    text = piece * (1_000_000 // len(piece))
    assert not url_passwords(text + "/")
    is_ordinary_text(text)
    names_module(text, "notes")
