"""Session: what the hooks of one process share."""

from __future__ import annotations

from collections.abc import Mapping

from mosaic.fastlane.gl_probe import NO_GL
from mosaic.fastlane.lane import Lane
from mosaic.fastlane.settings import read_settings
from mosaic.injection.bridge import Bridge
from mosaic.injection.complaints import Complaints
from mosaic.injection.layers import Layers
from mosaic.injection.leaving import before_leaving
from mosaic.injection.variables import BRIDGE, COMPATIBILITY
from mosaic.injection.vector_watch import VectorLayers
from mosaic.injection.watches import Watches


class Session:
    def __init__(self, variables: Mapping[str, str], complaints: Complaints) -> None:
        self.complaints = complaints
        self.is_compatible = variables.get(COMPATIBILITY, "") == "1"
        self.bridge = Bridge(variables.get(BRIDGE, ""))
        before_leaving(self.bridge.close)
        self._noted: set[str] = set()
        settings = read_settings(variables)
        lane = Lane(settings, self._no_view) if settings.is_on else None
        watches = Watches(self.bridge, lane, self.note)
        self.layers = Layers(watches, complaints)
        self.vectors = VectorLayers(watches, complaints)

    def note(self, text: str) -> None:
        """Each sentence once per process, in one line."""
        text = " ".join(text.split())
        if text not in self._noted:
            self._noted.add(text)
            self.bridge.note(text)

    def _no_view(self, text: str) -> None:
        # The same for all of them: said once, not per environment.
        self.note(f"no live view of MuJoCo: {NO_GL}" if NO_GL in text else text)
