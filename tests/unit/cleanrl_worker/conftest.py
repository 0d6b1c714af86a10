"""What a training sets for its whole process is taken back, as the tests share one."""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def ordinary_arithmetic() -> Iterator[None]:
    yield
    if "torch" in sys.modules:
        sys.modules["torch"].set_flush_denormal(False)
