"""What the script worker can be told."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from mosaic.fastlane.layout import DEFAULT_SLOTS, MAX_SLOTS
from mosaic.fastlane.settings import MODE_HELP
from mosaic.worker import ConfigError, option


@dataclass(frozen=True)
class ScriptConfig:
    """Options with a section are in the form of scripts, those with a flag in `mosaic watch`."""

    command: tuple[str, ...] = option(
        help="as you would type it in a terminal",
        editor="command",
        section="",
        order=1,
        placeholder="python train.py --seed 1",
    )
    cwd: str | None = option(
        None,
        help="the script is started here",
        editor="path",
        title="Folder",
        section="",
        order=2,
        flag="--cwd",
    )
    env_python: str | None = option(
        None,
        help="what `python` means",
        editor="path",
        title="Interpreter",
        section="Interpreter and variables",
        order=1,
        placeholder="the one on the PATH",
        flag="--env-python",
    )
    compatibility: bool = option(
        False,
        help="for scripts written before Gymnasium 1.0",
        title="Old Gymnasium",
        section="Interpreter and variables",
        order=2,
        flag="--compat",
    )
    record_episodes: bool = option(
        True,
        help="keep the actions of all episodes, so that each can be replayed",
        section="Recording",
        order=1,
        flag="--no-record",
    )
    recording_limit_mb: int = option(
        1000,
        help="recording stops when its files would become larger",
        minimum=1,
        title="Recording limit",
        section="Recording",
        order=2,
        unit="MB",
        flag="--recording-limit-mb",
        shown_when={"record_episodes": True},
    )
    video_mode: Literal["grid", "single", "off"] = option(
        "grid",
        help="which environments are seen while it runs",
        title="Live frames",
        section="Frames",
        order=1,
        flag="--video",
        choice_help=MODE_HELP,
    )
    fastlane_slot: int = option(
        0,
        help="which environment is seen, with single",
        minimum=0,
        title="Environment number",
        section="Frames",
        order=2,
        flag="--slot",
        shown_when={"video_mode": "single"},
    )
    fastlane_grid_limit: int = option(
        DEFAULT_SLOTS,
        help="how many environments are seen, with grid",
        minimum=1,
        maximum=MAX_SLOTS,
        title="Most at once",
        section="Frames",
        order=3,
        flag="--grid-limit",
        shown_when={"video_mode": "grid"},
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
