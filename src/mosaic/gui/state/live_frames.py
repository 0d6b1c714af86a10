"""LiveFrames: what the environments of a run look like at this moment."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.fastlane.slot_writer import Metrics
from mosaic.fastlane.tiling import Picture
from mosaic.fastlane.viewer import WAITING, SlotsView


@dataclass(frozen=True)
class Tile:
    slot: int
    picture: Picture | None
    metrics: Metrics | None
    frames: int = 0  # published so far
    pid: int = 0  # of the process that steps it


@dataclass(frozen=True)
class LiveFrames:
    status: str = WAITING  # a word of `mosaic.fastlane.viewer`
    message: str = ""
    tiles: tuple[Tile, ...] = ()
    slot_limit: int = 0  # environments the run has room for; 0: not known yet

    @property
    def metrics(self) -> tuple[Metrics, ...]:
        return tuple(tile.metrics for tile in self.tiles if tile.metrics is not None)

    @property
    def has_picture(self) -> bool:
        return any(tile.picture is not None for tile in self.tiles)


def live_frames_of(view: SlotsView) -> LiveFrames:
    tiles = tuple(
        Tile(slot.slot, slot.picture, slot.metrics, slot.frames, slot.pid) for slot in view.slots
    )
    return LiveFrames(view.status, view.message, tiles, view.slot_limit)
