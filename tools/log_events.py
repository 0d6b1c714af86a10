"""Writes docs/reference/log-events.md: every log event, derived from the source."""

from __future__ import annotations

import ast
import re
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src"
PAGE = ROOT / "docs" / "reference" / "log-events.md"
LEVELS = ("debug", "info", "warning", "error", "exception")
EVENT_NAME = re.compile(r"[a-z_]+\.[a-z_]+")


@dataclass(frozen=True, order=True)
class LogEvent:
    name: str
    level: str
    module: str
    fields: tuple[str, ...]


def log_events(source: Path = SOURCE) -> list[LogEvent]:
    found = []
    for path in sorted(source.rglob("*.py")):
        module = ".".join(path.relative_to(source).with_suffix("").parts)
        for node in ast.walk(ast.parse(path.read_text())):
            if event := _event_of(node, module):
                found.append(event)
    return sorted(set(found))


def _event_of(node: ast.AST, module: str) -> LogEvent | None:
    match node:
        case ast.Call(
            func=ast.Attribute(value=ast.Name(id="log"), attr=level),
            args=[ast.Constant(value=str(name)), *_],
            keywords=keywords,
        ) if level in LEVELS:
            fields = tuple(keyword.arg for keyword in keywords if keyword.arg)
            return LogEvent(name, level, module, fields)
    return None


def page(events: list[LogEvent]) -> str:
    rows = [
        f"| `{event.name}` | {event.level} | `{event.module}` | "
        + (", ".join(f"`{field}`" for field in event.fields) or "–")
        + " |"
        for event in events
    ]
    head = (
        "# Log events\n\n"
        "Every record is one JSON object a line with `time`, `level`, `component`, `event` and "
        "the fields below.\nThe daemon writes to `$MOSAIC_HOME/var/logs/trainer_daemon.log`.\n"
        "This page is derived from the source by `make docs`.\n\n"
        "| event | level | component | fields |\n|---|---|---|---|\n"
    )
    return head + "\n".join(rows) + "\n"


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(log_events()))
    print(f"{len(log_events())} events written to {PAGE.relative_to(ROOT)}", file=sys.stderr)
