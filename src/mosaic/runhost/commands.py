"""What a request on the control socket means: one JSON object in, one JSON object out."""

from __future__ import annotations

import json
from typing import Any, Protocol


class CommandError(Exception):
    """The command cannot be carried out; the message goes back to whoever asked."""


class RunControl(Protocol):
    """What a run lets others do to it. All of these may raise CommandError."""

    def stop(self, reason: str, grace_s: float | None) -> dict[str, Any]: ...
    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def send(self, line: dict[str, Any]) -> None: ...
    def status(self) -> dict[str, Any]: ...


def answer(run: RunControl, line: bytes) -> dict[str, Any]:
    try:
        request = json.loads(line)
    except (ValueError, RecursionError):
        return {"ok": False, "error": "the request is not JSON"}
    if not isinstance(request, dict):
        return {"ok": False, "error": "the request is not a JSON object"}
    try:
        return {"ok": True, **_carry_out(run, request)}
    except CommandError as error:
        return {"ok": False, "error": str(error)}


def _carry_out(run: RunControl, request: dict[str, Any]) -> dict[str, Any]:
    match request.get("command"):
        case "stop":
            return run.stop(_reason(request), _grace(request))
        case "pause":
            run.pause()
        case "resume":
            run.resume()
        case "send":
            line = request.get("line")
            if not isinstance(line, dict):
                raise CommandError("'line' must be a JSON object")
            run.send(line)
        case "status":
            return run.status()
        case other:
            raise CommandError(f"unknown command {str(other)[:80]!r}")
    return {}


def _reason(request: dict[str, Any]) -> str:
    reason = request.get("reason", "user_cancel")
    if not isinstance(reason, str) or not reason:
        raise CommandError("'reason' must be a word")
    return reason[:80]


def _grace(request: dict[str, Any]) -> float | None:
    grace = request.get("grace_s")
    if grace is None:
        return None
    if isinstance(grace, bool) or not isinstance(grace, int | float) or not 0 <= grace < 1e9:
        raise CommandError("'grace_s' must be a number of seconds, 0 or more")
    return float(grace)
