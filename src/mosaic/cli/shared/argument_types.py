"""Numbers on the command line; what is none, or beyond its bounds, is refused in words."""

from __future__ import annotations

import argparse
from collections.abc import Callable

from mosaic.front.typed_numbers import whole_number

MOST_COUNT = 10**9  # far more than there is of anything, and what a request can hold
_SHOWN = 40


def natural(text: str) -> int:
    """0, 1, 2, …"""
    return _whole(text, 0, MOST_COUNT)


def positive(text: str) -> int:
    """1, 2, 3, …"""
    return _whole(text, 1, MOST_COUNT)


def seed(text: str) -> int:
    """Any whole number of up to 128 bits; the worker says which of them it takes."""
    return _whole(text, -(2**128), 2**128)


def whole_between(least: int, most: int) -> Callable[[str], int]:
    return lambda text: _whole(text, least, most)


def number_between(least: float, most: float) -> Callable[[str], float]:
    def parse(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text[:_SHOWN]!r} is not a number") from None
        if not least <= value <= most:
            raise argparse.ArgumentTypeError(
                f"{text[:_SHOWN]} is not between {least:g} and {most:g}"
            )
        return value

    return parse


def config_number(path: str) -> Callable[[str], int]:
    """A whole number within the bounds that the TrainRunConfig has for this field."""

    def parse(text: str) -> int:
        from mosaic.contracts.run_config import load_schema

        field = load_schema("train_run_config")
        for name in path.split("."):
            field = field["properties"][name]
        return _whole(text, field["minimum"], field["maximum"])

    return parse


def total_steps(text: str) -> int:
    """As `schedule.max_steps`; `1e6` and `1M` are how people write a million."""
    try:
        plain = str(whole_number(text))
    except ValueError:
        plain = text
    return config_number("schedule.max_steps")(plain)


def _whole(text: str, least: int, most: int) -> int:
    try:
        value = int(text)  # refuses thousands of digits, too
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text[:_SHOWN]!r} is not a whole number") from None
    if value < least:
        raise argparse.ArgumentTypeError(f"{text[:_SHOWN]} is less than {least}")
    if value > most:
        raise argparse.ArgumentTypeError(f"{text[:_SHOWN]} is more than {most}")
    return value
