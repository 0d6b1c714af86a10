"""What the hooks of one process share, until the very end of the process."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Mapping
from typing import Any

from mosaic.fastlane.drawing import NO_GL
from mosaic.fastlane.settings import read_settings
from mosaic.injection.bridge import Bridge
from mosaic.injection.complaints import Complaints
from mosaic.injection.episode_file import DEFAULT_LIMIT, EpisodeFile
from mosaic.injection.lane_on_demand import LaneOnDemand
from mosaic.injection.layers import Layers, Subclasses
from mosaic.injection.variables import ATTEMPT, BRIDGE, COMPATIBILITY, RECORDING_LIMIT, RECORDINGS
from mosaic.injection.vector_watch import VectorLayers
from mosaic.injection.watches import Watches

_WAYS_OUT = ("_exit", "execv", "execve")  # the other kinds of exec end in these two


def call_before_exit(call: Callable[[], None]) -> None:
    for name in _WAYS_OUT:
        setattr(os, name, _after(call, getattr(os, name)))


def _after(call: Callable[[], None], leave: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(leave)
    def leaving(*args: Any, **kwargs: Any) -> Any:
        with contextlib.suppress(Exception):
            call()
        return leave(*args, **kwargs)

    return leaving


class HookSession:
    def __init__(self, variables: Mapping[str, str], complaints: Complaints) -> None:
        self.complaints = complaints
        self.is_compatible = variables.get(COMPATIBILITY, "") == "1"
        episode_file = self._episode_file(variables)
        self.bridge = Bridge(variables.get(BRIDGE, ""), episode_file=episode_file)
        call_before_exit(self.bridge.close)
        self._noted: set[str] = set()
        settings = read_settings(variables)
        lane = LaneOnDemand(settings, self._no_view) if settings.is_on else None
        is_recording = episode_file is not None
        watches = Watches(self.bridge, lane, self.note, is_recording=is_recording)
        self.watches = watches
        self.layers = Layers(watches, complaints)
        self.vectors = VectorLayers(watches)
        self.subclasses = Subclasses(complaints)

    def _episode_file(self, variables: Mapping[str, str]) -> EpisodeFile | None:
        folder = variables.get(RECORDINGS, "")
        if not folder:
            return None
        try:
            attempt = int(variables.get(ATTEMPT, "1"))
            limit = int(variables.get(RECORDING_LIMIT, str(DEFAULT_LIMIT)))
        except ValueError as error:
            self.complaints.say("recording episodes", error)
            return None
        return EpisodeFile(folder, attempt, limit, self.note)

    def note(self, text: str) -> None:
        """Each sentence once per process, in one line."""
        text = " ".join(text.split())
        if text not in self._noted:
            self._noted.add(text)
            self.bridge.note(text)

    def _no_view(self, text: str) -> None:
        # The same for all of them: said once, not per environment.
        self.note(f"no live view of MuJoCo: {NO_GL}" if NO_GL in text else text)
