"""Subclasses: every class below one of a library, those that there are and those to come."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mosaic.injection.complaints import Complaints

Look = Callable[[type], None]


class Subclasses:
    def __init__(self, complaints: Complaints) -> None:
        self._complaints = complaints
        self._followed: list[tuple[type, Look]] = []

    def follow(self, base: Any, look: Look) -> None:
        """`look` gets each class once it is made, or twice: see `filled`."""
        self._followed.append((base, look))
        for kind in _below(base):
            self._look_at(kind, look)
        original = base.__dict__.get("__init_subclass__")
        subclasses = self

        def __init_subclass__(cls: Any, /, **kwargs: Any) -> None:  # noqa: N807
            if original is None:
                super(base, cls).__init_subclass__(**kwargs)
            else:
                original.__get__(None, cls)(**kwargs)
            subclasses._look_at(cls, look)

        base.__init_subclass__ = classmethod(__init_subclass__)

    def filled(self, kind: type) -> None:
        """Unpickled classes are made empty and get their methods later."""
        for base, look in self._followed:
            if issubclass(kind, base):
                self._look_at(kind, look)

    def _look_at(self, kind: type, look: Look) -> None:
        try:
            look(kind)
        except Exception as error:  # noqa: BLE001  # the script has its class all the same
            self._complaints.say(f"following {kind.__name__}", error)


def _below(base: type) -> list[type]:
    found: dict[type, None] = {}
    waiting: list[type] = base.__subclasses__()
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found[kind] = None
            waiting += kind.__subclasses__()
    return list(found)
