"""What the script worker can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mosaic.fastlane.layout import DEFAULT_SLOTS, MAX_SLOTS
from mosaic.worker import ConfigError, option


@dataclass(frozen=True)
class ScriptConfig:
    command: tuple[str, ...] = option(help="the program and its arguments, one word each")
    cwd: str | None = option(
        None, help="folder the command runs in; default: the run's folder for outputs"
    )
    env_python: str | None = option(
        None, help="interpreter that `python` means in the command, as of a virtual environment"
    )
    compatibility: bool = option(
        False, help="let scripts written for Gymnasium before 1.0 see the old behaviour"
    )
    video_mode: Literal["single", "grid", "off"] = option(
        "grid", help="live frames of one environment, of several side by side, or none"
    )
    fastlane_slot: int = option(0, help="with video_mode single: which environment", minimum=0)
    fastlane_grid_limit: int = option(
        DEFAULT_SLOTS, help="with video_mode grid: at most so many", minimum=1, maximum=MAX_SLOTS
    )
    record_episodes: bool = option(
        True, help="keep the actions of all episodes, so that each can be replayed"
    )
    recording_limit_mb: int = option(
        1000, help="recording stops when its files would become larger", minimum=1
    )
    unset_variables: tuple[str, ...] = option(
        list, help="environment variables that the command shall not see"
    )
    run_id: str | None = option(None, help="set by MOSAIC")
    worker_id: str | None = option(None, help="set by MOSAIC")
    agent_id: str | None = option(None, help="set by MOSAIC")

    def __post_init__(self) -> None:
        if not self.command or not self.command[0].strip():
            raise ConfigError(
                "Invalid ScriptConfig: 'command' is empty",
                hint='name a program and its arguments, for example ["python", "train.py"]',
                field="command",
            )
        if any("\0" in word for word in self.command):
            raise ConfigError("Invalid ScriptConfig: 'command' holds a NUL", field="command")
