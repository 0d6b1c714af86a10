"""Shows the figures of all chaos tests together, below the usual summary."""

from __future__ import annotations

import pytest

from tests.chaos.figures import recorded


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    lines = recorded()
    if lines:
        terminalreporter.section("pass figures")
        for line in lines:
            terminalreporter.line(line)
