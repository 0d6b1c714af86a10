"""What goes wrong around the window: the daemon dies, a worker, a GPU, a file is missing."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QCheckBox
from pytestqt.qtbot import QtBot

from mosaic.front.worker_manifests import add_manifest
from mosaic.gui.application import Application
from mosaic.gui.charts.tab import ChartsTab
from mosaic.gui.launch.model.shared_fields import NO_GPU
from mosaic.gui.replay.page import ReplayPage
from mosaic.gui.state.targets import Page
from mosaic.paths import Home
from tests.daemon_harness import DaemonHarness, running_daemon
from tests.gui.workflow_steps import Person, somebody, texts

ENDLESS = {"episodes": 1_000_000, "max_steps_per_second": 500.0}
FIX = 'pip install "dice[all]"'
WORKER = f"""
from mosaic.contracts.capabilities import ReadinessCheck, WorkerCapabilities

def get_worker_metadata():
    return WorkerCapabilities(
        worker_type="dice",
        readiness_checks=(ReadinessCheck("dice", "import:no_such_module_at_all", {FIX!r}),),
        config_schema={{"type": "object", "properties": {{"seed": {{"type": "integer"}}}}}},
    )
"""
# A window with a chart, on a machine where whoever asks for OpenGL is refused.
WITHOUT_OPENGL = """
import sys
from pathlib import Path
from PySide6 import QtGui, QtOpenGLWidgets
from PySide6.QtWidgets import QApplication

def refuse(*arguments, **options):
    raise RuntimeError("there is no OpenGL here")

QtOpenGLWidgets.QOpenGLWidget.__init__ = refuse
QtGui.QOpenGLContext.__init__ = refuse

from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.charts.plot import CurvePlot
from mosaic.gui.charts.model.curve import Curve, numbers
from mosaic.paths import Home

home = Home(Path(sys.argv[1]))
qt = QApplication([])
application = Application(qt, home, lambda: AsyncTrainerClient(home, autostart=False))
application.window.show()
plot = CurvePlot(application.theme)
plot.show_curves([Curve("a", "#ff0000", numbers([0, 1, 2]), numbers([1, 3, 2]))])
plot.resize(300, 200)
plot.show()
image = plot.grab().toImage()
colours = {image.pixelColor(x, y).name() for x in range(300) for y in range(200)}
import pyqtgraph
assert not pyqtgraph.getConfigOption("useOpenGL")
assert not [item for item in qt.allWidgets() if item.inherits("QOpenGLWidget")]
assert len(colours) > 4, colours
plot.close()
application.close()
"""


@pytest.fixture
def daemon() -> Iterator[DaemonHarness]:
    with running_daemon(MOSAIC_GPUS="0") as harness:
        yield harness


@pytest.fixture
def person(qtbot: QtBot, application: Application) -> Person:
    return somebody(qtbot, application)


def test_the_daemon_dies_and_comes_back(person: Person, daemon: DaemonHarness) -> None:
    over = daemon.submit(run_name="over")
    person.see_state(over, "succeeded")
    run_id = daemon.submit(run_name="goes-on", config=ENDLESS)
    person.select_run(run_id)
    person.see_state(run_id, "running")
    charts = person.open_tab("charts", ChartsTab)

    def last_x() -> float:
        ends = [
            curve.xs[-1] for card in charts.cards for curve in card.plot.curves if len(curve.xs)
        ]
        return float(max(ends, default=0.0))

    person.see(lambda: last_x() > 0)
    daemon.kill()
    banner = person.window.banner
    person.see(banner.isVisible)
    assert "runs are not affected" in banner.text
    assert {over, run_id} <= set(person.runs.model.run_ids)
    assert person.selected == [run_id] and charts.isVisible()
    person.see(lambda: not person.launch.footer.button.isEnabled())
    assert "daemon" in person.launch.footer.status.text()
    seen = last_x()
    daemon.start()
    person.see(lambda: not banner.isVisible())
    person.see(lambda: last_x() > seen)
    person.see_state(run_id, "running")
    person.choose("Run", "Stop")
    person.see_state(run_id, "canceled")


def test_a_worker_without_its_extra_says_what_to_install(
    qtbot: QtBot,
    daemon: DaemonHarness,
    open_application: Callable[[Home], Application],
    tmp_path: Path,
) -> None:
    package = tmp_path / "dice_pack"
    package.mkdir()
    (package / "__init__.py").write_text(WORKER)
    (package / "cli.py").write_text("print('hello')\n")
    entry = 'name = "dice"\nentry_point = "dice_pack:get_worker_metadata"\n'
    (tmp_path / "worker.toml").write_text(entry)
    add_manifest(daemon.home, tmp_path)
    application = open_application(daemon.home)
    application.start()
    person = somebody(qtbot, application)
    row = person.launch.roster.row("dice")
    assert "not ready" in row.accessibleName()
    person.click(row)
    assert not person.launch.footer.button.isEnabled()
    assert FIX in person.launch.footer.status.text()
    assert FIX in texts(person.launch.roster)


def test_without_a_gpu_the_switch_says_so(person: Person) -> None:
    person.open_section("Run")
    row = person.field("use_gpu")
    assert isinstance(row.editor, QCheckBox) and not row.editor.isEnabled()
    assert NO_GPU in texts(row)
    assert "CPU" in person.launch.footer.status.text()


def test_the_window_needs_no_opengl(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_OPENGL, str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr


def test_a_run_whose_folder_is_elsewhere_is_shown_as_far_as_known(
    person: Person, daemon: DaemonHarness, tmp_path: Path
) -> None:
    run_id = daemon.submit(run_name="moved")
    person.see_state(run_id, "succeeded")
    shutil.move(daemon.home.run(run_id).directory, tmp_path / "elsewhere")
    person.select_run(run_id)
    panel = person.window.tabs_panel
    person.see_details()
    for number in range(len(panel.tab_ids)):
        person.window.tabs_panel.show_nth(number)
        person.see(lambda number=number: panel.current_id == panel.tab_ids[number])  # type: ignore[misc]
        tab = panel.tab(panel.current_id)
        assert tab is not None
        person.see(tab.isVisible)
    person.choose("Run", "Show in the centre")
    centre = person.outcome()
    person.see(lambda: bool(texts(centre)))
    person.choose("Run", "Replay")
    view = person.page(Page.REPLAY, ReplayPage)
    person.see(lambda: "Reading" not in texts(view))
    person.choose("Run", "Open folder")
    person.see_notice("is not on this machine")
