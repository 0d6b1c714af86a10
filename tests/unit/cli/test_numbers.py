"""Numbers on the command line."""

from __future__ import annotations

import argparse

import pytest

from mosaic.cli.numbers import natural, number_between, positive, whole_between


def test_whole_numbers_are_taken() -> None:
    assert natural("0") == 0 and natural(" 12 ") == 12 and positive("1") == 1


@pytest.mark.parametrize("text", ["", "x", "1.5", "1e3", "0x1"])
def test_other_words_are_named(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="not a whole number"):
        natural(text)


def test_numbers_below_the_least_are_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="-5 is less than 0"):
        natural("-5")
    with pytest.raises(argparse.ArgumentTypeError, match="0 is less than 1"):
        positive("0")


def test_ranges_include_their_ends_and_nothing_beyond() -> None:
    port, speed = whole_between(0, 65535), number_between(0.01, 1000)
    assert (port("0"), port("65535"), speed("0.01"), speed("1e3")) == (0, 65535, 0.01, 1000.0)
    for parse, text, words in (
        (port, "65536", "65536 is more than 65535"),
        (port, "-1", "-1 is less than 0"),
        (speed, "nan", "nan is not between 0.01 and 1000"),
        (speed, "inf", "inf is not between"),
        (speed, "fast", "'fast' is not a number"),
    ):
        with pytest.raises(argparse.ArgumentTypeError, match=words):
            parse(text)
