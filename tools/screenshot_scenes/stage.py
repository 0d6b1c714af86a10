"""Stage: the real window without a screen, waited for and photographed."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QWidget

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.charts.model.curve import Curve
from mosaic.gui.charts.tab import ChartsTab
from mosaic.gui.state.workbench_state import Connection, WorkbenchState
from mosaic.gui.trials.tab import TrialsTab
from screenshot_scenes.sample_home import SampleHome
from screenshot_scenes.small_png import save_small

SMALL, NARROW, LARGE = (1280, 800), (900, 700), (2560, 1440)
DARK, LIGHT = "dark", "light"
_SETTLE_S = 0.4
_WAIT_S = 30.0
_LOOK_S = 0.02
_MORE_CHARTS = ("SPS",)
_NEUTRAL = "/opt/mosaic"


class Stage:
    def __init__(self, qt: QApplication, home: SampleHome, folder: Path) -> None:
        self._folder = folder
        self.sizes: dict[str, int] = {}
        self.missed: list[str] = []
        self.application = Application(
            qt, home.home, lambda: AsyncTrainerClient(home.home, autostart=False), theme_name=DARK
        )
        self.window = self.application.window
        self.application.start()
        self._dress(DARK, SMALL)
        self.until(lambda: self.state.connection is Connection.ONLINE, "the daemon")
        self.until(lambda: bool(self.state.workers and self.state.environments), "the catalogue")

    def close(self) -> None:
        self.application.close()
        # What is not written now would be at the end of the program, when its folder is gone.
        self.application.workbench.settings.sync()

    @property
    def state(self) -> WorkbenchState:
        return self.application.state

    def run(self, command: str) -> None:
        self.application.workbench.commands.trigger(command)

    # Waiting

    def until(self, is_so: Callable[[], object], what: str, seconds: float = _WAIT_S) -> None:
        """Says what it waited for in vain, and goes on: the other pictures are still wanted."""
        end = time.monotonic() + seconds
        while not is_so():
            if time.monotonic() > end:
                self.missed.append(f"waited {seconds:g} s in vain for {what}")
                return
            self.spend(_LOOK_S)

    def spend(self, seconds: float) -> None:
        """In a real loop: without one, Qt does not delete what shall be deleted later."""
        loop = QEventLoop()
        QTimer.singleShot(int(seconds * 1000), loop.quit)
        loop.exec()

    def select(self, *run_ids: str) -> None:
        self.state.select(run_ids)
        self.until(lambda: self.state.details is not None, "the run's details")
        self.window.runs_panel.table.scrollToTop()

    def show_tab(self, tab_id: str) -> None:
        self.state.ask_tab(tab_id)
        panel = self.window.tabs_panel
        self.until(lambda: panel.current_id == tab_id, f"the tab {tab_id}", 10)

    def wait_for_curves(self) -> None:
        """Of all selected runs, in the first chart."""
        self.show_tab("charts")
        tab = self.window.tabs_panel.tab("charts")
        assert isinstance(tab, ChartsTab)
        self.until(lambda: any(len(curve.xs) for curve in _curves(tab)), "curves", 15)

    # Taking pictures

    def wait_for_study(self) -> None:
        """Another process draws it, after it has imported what that takes."""
        tab = self.window.tabs_panel.tab("trials")
        assert isinstance(tab, TrialsTab)
        self.until(lambda: not tab.pictures.canvas.image.isNull(), "the picture of the study")

    def shoot(
        self,
        scene: str,
        *,
        is_main: bool = False,
        keeps_focus: bool = False,
        tab: str = "",
        settle_s: float = _SETTLE_S,
    ) -> None:
        """Dark and small; a main scene also light, narrow and large.

        `tab`: what it is about; in a narrow window tabs are behind the form.
        """
        focused = self.window.focusWidget()
        if focused is not None and not keeps_focus:
            focused.clearFocus()
        self._save(scene, DARK, settle_s)
        if is_main:
            self._dress(LIGHT, SMALL)
            self._save(scene, LIGHT, settle_s)
            self._dress(LIGHT, NARROW)
            if tab:
                self.state.ask_tab(tab)
            self._save(f"{scene}-narrow", LIGHT, settle_s)
            self._dress(DARK, NARROW)
            self._save(f"{scene}-narrow", DARK, settle_s)
            self._dress(LIGHT, LARGE)
            self._add_charts(True)
            self._save(f"{scene}-large", LIGHT, settle_s)
            self._dress(DARK, LARGE)
            self._save(f"{scene}-large", DARK, settle_s)
            self._add_charts(False)
            self._dress(DARK, SMALL)
            self.spend(settle_s)

    def hide_machine(self, widget: QWidget) -> None:
        """Where Python lies on this machine is nobody's business."""
        for found in widget.findChildren(QLabel):
            found.setText(found.text().replace(sys.prefix, _NEUTRAL))
        for text in widget.findChildren(QPlainTextEdit):
            text.setPlainText(text.toPlainText().replace(sys.prefix, _NEUTRAL))

    def _add_charts(self, is_wanted: bool) -> None:
        """A large window has room for more than one."""
        tab = self.window.tabs_panel.tab("charts")
        if isinstance(tab, ChartsTab) and self.window.tabs_panel.current_id == "charts":
            for title in _MORE_CHARTS:
                if title in tab.chips.titles and tab.chips.button(title).isChecked() != is_wanted:
                    tab.chips.button(title).click()
            self.spend(_SETTLE_S)

    def _dress(self, theme: str, size: tuple[int, int]) -> None:
        self.application.theme.choose(theme)
        self.window.resize(*size)

    def _save(self, scene: str, theme: str, settle_s: float) -> None:
        self.spend(settle_s)
        path = self._folder / f"workbench-{scene}-{theme}.png"
        save_small(self.window.grab().toImage(), path)
        self.sizes[path.name] = path.stat().st_size
        print(f"{path.name:44} {path.stat().st_size / 1000:7.0f} kB", flush=True)


def _curves(tab: ChartsTab) -> list[Curve]:
    return [curve for card in tab.cards[:1] for curve in card.plot.curves]
