"""Numbers on the command line."""

from __future__ import annotations

import argparse

import pytest

from mosaic.cli.shared.argument_types import (
    config_number,
    natural,
    number_between,
    positive,
    seed,
    total_steps,
    whole_between,
)


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


def test_total_steps_may_be_written_with_an_exponent() -> None:
    assert total_steps("1e6") == total_steps("1000000") == 1_000_000
    for text in ("0", "1e16", "1.5", "nan", "1e308"):
        with pytest.raises(argparse.ArgumentTypeError):
            total_steps(text)


def test_numbers_of_a_config_have_the_bounds_of_its_schema() -> None:
    cpus = config_number("resources.cpus")
    assert cpus("4096") == 4096
    with pytest.raises(argparse.ArgumentTypeError, match="4097 is more than 4096"):
        cpus("4097")


def test_seeds_have_up_to_128_bits() -> None:
    assert seed(str(2**128)) == 2**128
    with pytest.raises(argparse.ArgumentTypeError, match="more than"):
        seed(str(2**128 + 1))
