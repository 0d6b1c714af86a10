"""What the pre-flight checks look at."""

from __future__ import annotations

from dataclasses import dataclass

from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_record import RunRecord
from mosaic.daemon.launch.command import LaunchCommand
from mosaic.daemon.machine import Capacity
from mosaic.paths import Home


@dataclass(frozen=True)
class Subject:
    config: TrainRunConfig
    command: LaunchCommand
    capacity: Capacity
    home: Home
    # Earlier runs of the same worker and environment, newest first.
    past: tuple[RunRecord, ...] = ()
    # Whether a person has seen what this run starts. Until then nothing of it is even tried out.
    is_confirmed: bool = True

    @property
    def may_be_tried(self) -> bool:
        return self.is_confirmed or self.command.is_as_installed
