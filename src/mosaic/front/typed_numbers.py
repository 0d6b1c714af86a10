"""Whole numbers as people type them: 1000000, 1,000,000, 1_000_000, 1e6, 1M, 500k. Pure."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation

_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d+)?")
_SHORT = re.compile(r"([+-]?[\d.,_]+)\s?([kKmMgGbB])")
_FACTORS = {"k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
_MOST_DIGITS = 18  # what is longer does not fit the 64 bits that all programs agree on


def decimal_number(text: str) -> Decimal:
    """Also with commas between thousands, and with k, M or G. Raises ValueError."""
    plain = text.strip()
    factor = 1
    if short := _SHORT.fullmatch(plain):
        plain, factor = short[1], _FACTORS[short[2].lower()]
    if _THOUSANDS.fullmatch(plain):
        plain = plain.replace(",", "")
    try:
        number = Decimal(plain)
    except InvalidOperation:
        raise ValueError("it is no number") from None
    return number if factor == 1 else number * factor


def whole_number(text: str) -> int:
    """Raises ValueError for what is not exactly a whole number, or too large for 64 bits."""
    number = decimal_number(text)
    if not number.is_finite() or number.adjusted() >= _MOST_DIGITS:
        raise ValueError("it is too large")
    if number != number.to_integral_value():
        raise ValueError("it is not whole")
    return int(number)
