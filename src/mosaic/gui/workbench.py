"""Workbench: what every panel is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from PySide6.QtCore import QSettings

from mosaic.gui.async_bridge import AsyncBridge
from mosaic.gui.commands import Commands
from mosaic.gui.state.workbench_state import WorkbenchState
from mosaic.gui.theme.theme import Theme
from mosaic.paths import Home

if TYPE_CHECKING:
    from mosaic.gui.run_actions import RunActions


@dataclass
class Workbench:
    home: Home
    state: WorkbenchState
    bridge: AsyncBridge
    theme: Theme
    commands: Commands
    settings: QSettings
    run_actions: RunActions
