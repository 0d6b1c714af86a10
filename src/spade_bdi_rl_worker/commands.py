"""What people tell a run while it goes on: passed on to the agents, and answered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from queue import SimpleQueue
from typing import Any

KNOWN = ("goal", "tell", "plan")
Answer = Mapping[str, Any]
_SENT_ALONG = ("ok", "text")
_PLACES = {"goal": ("kind", "target"), "tell": ("belief", "to"), "plan": ("text", "to")}


class Commands:
    """Takes commands in the thread that reads them, and carries them out in one of its own."""

    def __init__(
        self,
        handle: Callable[[dict[str, Any]], Answer],
        answer: Callable[..., None],
    ) -> None:
        self._handle = handle
        self._answer = answer
        self._waiting: SimpleQueue[dict[str, Any] | None] = SimpleQueue()
        self._thread = threading.Thread(target=self._carry_out, name="commands", daemon=True)
        self._thread.start()

    def put(self, command: dict[str, Any]) -> None:
        self._waiting.put(command)

    def close(self) -> None:
        self._waiting.put(None)
        self._thread.join(timeout=10.0)

    def _carry_out(self) -> None:
        while (command := self._waiting.get()) is not None:
            answer = self._answered(command)
            more = {name: value for name, value in answer.items() if name not in _SENT_ALONG}
            self._answer(command, bool(answer.get("ok")), str(answer.get("text", "")), **more)

    def _answered(self, command: dict[str, Any]) -> Answer:
        name = command.get("command")
        if name not in KNOWN:
            return {
                "ok": False,
                "text": f"{str(name)[:64]!r} is no command of this worker; it knows "
                f"{', '.join(KNOWN)}",
            }
        return self._handle(with_names(command))


def with_names(command: Mapping[str, Any]) -> dict[str, Any]:
    """`goal subgoal "row 2, column 3"`: values without a name get theirs by their place."""
    found = {key: value for key, value in command.items() if key not in ("request", "arguments")}
    given = command.get("arguments")
    places = _PLACES[str(found["command"])]
    if isinstance(given, list):
        for name, value in zip(places, given, strict=False):
            found.setdefault(name, value)
    target = found.get("target")
    if isinstance(target, int) and not isinstance(target, bool):
        found["target"] = f"state {target}"
    return found
