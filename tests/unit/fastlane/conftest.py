"""Most tests here leave their lane, viewer or segment open; it is closed for them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

from mosaic.fastlane.lane import Lane
from mosaic.fastlane.segment import Segment
from mosaic.fastlane.viewer import Viewer


@pytest.fixture(autouse=True)
def all_closed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Lanes first: their threads read the segments."""
    made: dict[type, list[Any]] = {Lane: [], Viewer: [], Segment: []}
    for kind in made:
        _note_new(kind, made[kind], monkeypatch)
    close = Segment.close

    def close_once(segment: Segment) -> None:
        made[Segment].remove(segment)
        close(segment)

    monkeypatch.setattr(Segment, "close", close_once)
    yield
    for kind in made:
        for user in made[kind].copy():
            with contextlib.suppress(OSError):  # some tests close what is below it
                user.close()


def _note_new(kind: Any, made: list[Any], monkeypatch: pytest.MonkeyPatch) -> None:
    make = kind.__init__

    def note(self: Any, *arguments: Any, **named: Any) -> None:
        make(self, *arguments, **named)
        made.append(self)

    monkeypatch.setattr(kind, "__init__", note)
