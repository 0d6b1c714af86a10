"""Which tabs there are, in their order. A new one is a line here.

Makers import their tab when it is first shown, so that the window opens without them.
"""

from __future__ import annotations

from mosaic.gui.agents.model.reading import has_agents
from mosaic.gui.checkpoints.model.cards import has_checkpoints_tab
from mosaic.gui.live.model.table import has_frames
from mosaic.gui.services.workbench import Workbench
from mosaic.gui.tabs import model as presence
from mosaic.gui.tabs.run_tab import RunTab, TabKind


def _fastlane(workbench: Workbench) -> RunTab:
    from mosaic.gui.live.tab import FastLaneTab

    return FastLaneTab(workbench)


def _charts(workbench: Workbench) -> RunTab:
    from mosaic.gui.charts.tab import ChartsTab

    return ChartsTab(workbench)


def _telemetry(workbench: Workbench) -> RunTab:
    from mosaic.gui.telemetry.tab import TelemetryTab

    return TelemetryTab(workbench)


def _agents(workbench: Workbench) -> RunTab:
    from mosaic.gui.agents.tab import AgentsTab

    return AgentsTab(workbench)


def _videos(workbench: Workbench) -> RunTab:
    from mosaic.gui.videos.tab import VideosTab

    return VideosTab(workbench)


def _tensorboard(workbench: Workbench) -> RunTab:
    from mosaic.gui.tensorboard.tab import TensorBoardTab

    return TensorBoardTab(workbench)


def _wandb(workbench: Workbench) -> RunTab:
    from mosaic.gui.wandb.tab import WandbTab

    return WandbTab(workbench)


def _trials(workbench: Workbench) -> RunTab:
    from mosaic.gui.trials.tab import TrialsTab

    return TrialsTab(workbench)


def _config(workbench: Workbench) -> RunTab:
    from mosaic.gui.run_config.tab import ConfigTab

    return ConfigTab(workbench)


def _game(workbench: Workbench) -> RunTab:
    from mosaic.gui.game_info.tab import GameTab

    return GameTab(workbench)


def _checkpoints(workbench: Workbench) -> RunTab:
    from mosaic.gui.checkpoints.tab import CheckpointsTab

    return CheckpointsTab(workbench)


TAB_KINDS: tuple[TabKind, ...] = (
    TabKind("charts", "Charts", "chart-line", presence.has_charts, _charts),
    TabKind("fastlane", "FastLane", "view-grid-outline", has_frames, _fastlane),
    TabKind(
        "checkpoints", "Checkpoints", "content-save-outline", has_checkpoints_tab, _checkpoints
    ),
    TabKind("telemetry", "Live", "pulse", presence.has_telemetry, _telemetry),
    TabKind("agents", "Agents", "head-cog-outline", has_agents, _agents),
    TabKind("trials", "Trials", "flask-outline", presence.has_trials, _trials),
    TabKind("videos", "Videos", "filmstrip", presence.has_videos, _videos),
    TabKind(
        "tensorboard", "TensorBoard", "chart-multiline", presence.has_tensorboard, _tensorboard
    ),
    TabKind("wandb", "W&B", "cloud-outline", presence.has_wandb, _wandb),
    TabKind("config", "Config", "tune-variant", presence.has_config, _config),
    TabKind("game", "Game info", "gamepad-variant-outline", presence.has_environment, _game),
)
