"""Values that have broken other programs: for every field that takes data from outside."""

from __future__ import annotations

import math
from typing import Any

NUMBERS: dict[str, Any] = {
    "minus one": -1,
    "minus zero": -0.0,
    "a half": 0.5,
    "2**31": 2**31,
    "2**32": 2**32,
    "2**53": 2**53,
    "2**63": 2**63,
    "2**64": 2**64,
    "-2**63 - 1": -(2**63) - 1,
    "2**70": 2**70,
    "2**1024": 2**1024,
    "400 digits": 10**400,
    "999 digits": 10**998,
    "1001 digits": 10**1000,
    "6000 digits": 10**5999,
    "minus 6000 digits": -(10**5999),
    "1e15 + 1": 10**15 + 1,
    "1e16": 1e16,
    "1e308": 1e308,
    "-1e308": -1e308,
    "tiny": 5e-324,
    "NaN": math.nan,
    "infinity": math.inf,
    "minus infinity": -math.inf,
}
TEXTS: dict[str, Any] = {
    "empty": "",
    "a number": "7",
    "1e308 as text": "1e308",
    "NaN as text": "NaN",
    "NUL": "a\x00b",
    "lone surrogate": "a\ud800b",
    "half an escape": "\udcff",
    "control": "\x1b]52;c;QQ==\x07",
    "override": "\u202etxt",
    "formula": "=1+1",
    "long": "x" * 200_000,
}
OTHERS: dict[str, Any] = {
    "true": True,
    "null": None,
    "list": [1],
    "nested list": [[[[]]]],
    "object": {"a": 1},
    "surrogate key": {"\ud800": 1},
    "NUL key": {"\x00": 1},
    "deep": {"a": {"b": [{"c": [math.nan]}]}},
}
VALUES = {**NUMBERS, **TEXTS, **OTHERS}
