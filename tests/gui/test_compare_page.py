"""The compare page: runs of a real daemon, taken together by their seeds."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtTest import QTest
from pytestqt.qtbot import QtBot

pytest.importorskip("scipy")
pytest.importorskip("matplotlib")

from mosaic.cli.main import main
from mosaic.compare import requirements
from mosaic.contracts.metrics import EPISODIC_RETURN
from mosaic.front.policy_config import resuming_document
from mosaic.front.references import PolicyReference
from mosaic.gui.application import Application
from mosaic.gui.compare.page import ComparePage, RunChip
from mosaic.gui.state.notices import Notice
from mosaic.gui.state.rerun import policy_of
from mosaic.gui.state.targets import Page
from tests.daemon_harness import DaemonHarness
from tests.gui.conftest import WAIT_MS
from tests.gui.workflow_steps import train_quickly, wait_trained


def finished_runs(daemon: DaemonHarness, *settings: dict[str, Any]) -> list[str]:
    started = [
        daemon.submit(
            run_name=f"{config.get('policy', 'random')}-s{config.get('seed', 1)}",
            config={"episodes": None, "total_timesteps": 3000, **config},
        )
        for config in settings
    ]
    for run_id in started:
        assert daemon.wait_over(run_id).outcome == "succeeded"
    return started


def opened(qtbot: QtBot, application: Application, run_ids: list[str]) -> ComparePage:
    runs = application.state.runs
    qtbot.waitUntil(lambda: all(run_id in runs for run_id in run_ids), timeout=WAIT_MS)
    application.state.compare(run_ids)
    view = application.window.stage.page(Page.COMPARE)
    assert isinstance(view, ComparePage)
    return view


def shown(qtbot: QtBot, application: Application, run_ids: list[str]) -> ComparePage:
    view = opened(qtbot, application, run_ids)
    qtbot.waitUntil(lambda: view.export_button.isEnabled(), timeout=WAIT_MS)
    return view


def is_telling(view: ComparePage, words: str) -> bool:
    return words in f"{view.message._title.text()} {view.message._text.text()}"


def test_seeds_are_taken_together_and_told_apart(
    qtbot: QtBot, daemon: DaemonHarness, application: Application, tmp_path: Path
) -> None:
    run_ids = finished_runs(
        daemon,
        *({"seed": seed, "policy": "heuristic"} for seed in (1, 2, 3, 4)),
        *({"seed": seed} for seed in (1, 2, 3, 4)),
    )
    view = shown(qtbot, application, run_ids)
    table = view.page.finals.table
    assert [row[1] for row in table.rows] == ["4", "4"]
    (verdict, *_) = view.page.verdicts.texts
    assert "heuristic is better than random" in verdict
    assert view.page.pairs.table.rows[0][-1] == "yes"
    assert any("policy" in row[0] for row in view.page.differences.table.rows)
    assert len(view.chips.names) == 8

    said: list[Notice] = []
    application.state.said.connect(said.append)
    view.export_report(tmp_path / "report.html")
    view.export_picture(tmp_path / "plots.png")
    qtbot.waitUntil(lambda: len(said) == 2, timeout=WAIT_MS)
    assert "heuristic" in (tmp_path / "report.html").read_text()
    assert (tmp_path / "plots.png").read_bytes().startswith(b"\x89PNG")
    view.copy_tables()
    assert QGuiApplication.clipboard().text().startswith("Group\tSeeds\tIQM")
    view.export_report(tmp_path / "nowhere" / "report.html")
    qtbot.waitUntil(lambda: "cannot be written" in said[-1].text, timeout=WAIT_MS)


def test_chips_take_runs_out_until_one_is_no_comparison(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_ids = finished_runs(daemon, {"seed": 1}, {"seed": 2}, {"seed": 3, "policy": "heuristic"})
    view = shown(qtbot, application, run_ids)
    qtbot.mouseClick(view.chips.chip(run_ids[0]), Qt.MouseButton.LeftButton)
    assert application.state.compared == tuple(run_ids[1:])
    qtbot.waitUntil(lambda: view.export_button.isEnabled(), timeout=WAIT_MS)
    qtbot.mouseClick(view.chips.chip(run_ids[1]), Qt.MouseButton.LeftButton)
    assert is_telling(view, "One run is not a comparison") and not view.export_button.isEnabled()
    view.chips._fill_menu()
    offered = view.chips._menu.actions()
    assert len(offered) == 2
    offered[0].trigger()
    qtbot.waitUntil(lambda: view.export_button.isEnabled(), timeout=WAIT_MS)
    assert len(view.chips.names) == 2


def test_the_wheel_over_the_curves_scrolls_to_the_tables(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    application.window.resize(1000, 700)
    view = shown(qtbot, application, finished_runs(daemon, {"seed": 1}, {"policy": "heuristic"}))
    bar = view.page.verticalScrollBar()
    qtbot.waitUntil(lambda: bar.maximum() > 0, timeout=WAIT_MS)
    window = application.window
    # Sent to the window: what a widget does not take is offered to those around it.
    middle = view.page.mapTo(window, view.page.plot.geometry().center())
    for _ in range(60):
        QTest.wheelEvent(window.windowHandle(), QPointF(middle), QPoint(0, -120))
    qtbot.waitUntil(lambda: bar.value() == bar.maximum(), timeout=WAIT_MS)
    assert view.page.plot.chosen_range is None


def is_inside(view: ComparePage, chip: RunChip) -> bool:
    return 0 < chip.geometry().right() <= view.chips.width()


def test_a_long_name_leaves_the_cross_of_its_chip_in_sight(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    long_name = "ppo on a very long environment name with every parameter spelt out " * 2
    run_id = daemon.submit(run_name=long_name[:120], config={"episodes": 3})
    daemon.wait_over(run_id)
    for width in (1000, 1600):
        application.window.resize(width, 700)
        view = opened(qtbot, application, [run_id])
        chip = view.chips.chip(run_id)
        qtbot.waitUntil(partial(is_inside, view, chip), timeout=WAIT_MS)
        assert chip.text().endswith("✕") and "…" in chip.text()
        assert chip.fontMetrics().horizontalAdvance(chip.text()) < chip.width()
        assert view.chips.names == [long_name[:120]]


def test_one_seed_against_five_is_compared_with_a_warning_not_refused(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_ids = finished_runs(
        daemon,
        *({"seed": seed} for seed in (1, 2, 3, 4, 5)),
        {"seed": 9, "policy": "heuristic"},
    )
    view = shown(qtbot, application, run_ids)
    assert sorted(row[1] for row in view.page.finals.table.rows) == ["1", "5"]
    assert "cannot be told apart" in view.page.verdicts.texts[0]


def test_other_environments_and_deleted_runs_are_sentences(
    qtbot: QtBot, daemon: DaemonHarness, application: Application
) -> None:
    run_ids = finished_runs(daemon, {"seed": 1}, {"env_id": "FrozenLake-v1"}, {"seed": 2})
    view = opened(qtbot, application, run_ids[:2])
    qtbot.waitUntil(lambda: is_telling(view, "2 environments"), timeout=WAIT_MS)
    assert len(view.chips.names) == 2
    application.state.compare([run_ids[0], run_ids[2]])
    qtbot.waitUntil(lambda: view.export_button.isEnabled(), timeout=WAIT_MS)
    application.state.runs.remove([run_ids[2]])
    assert application.state.compared == (run_ids[0],)
    assert is_telling(view, "One run is not a comparison")


def test_an_empty_page_says_how_to_select_several(lonely: Application) -> None:
    lonely.state.compare(())
    view = lonely.window.stage.page(Page.COMPARE)
    assert isinstance(view, ComparePage)
    assert is_telling(view, "No runs to compare") and is_telling(view, "Ctrl+click")


def test_a_missing_package_is_said_with_its_command(
    qtbot: QtBot,
    daemon: DaemonHarness,
    application: Application,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run_ids = finished_runs(daemon, {"seed": 1}, {"seed": 2})
    monkeypatch.setattr(requirements, "PACKAGES", ("scipyx",))
    view = opened(qtbot, application, run_ids)
    qtbot.waitUntil(lambda: is_telling(view, 'install "mosaic-rl[compare]"'), timeout=WAIT_MS)


def test_a_resumed_run_is_one_curve_and_one_seed_with_the_run_it_continues(
    qtbot: QtBot,
    daemon: DaemonHarness,
    application: Application,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    pytest.importorskip("torch", reason="the learner needs torch")
    first = wait_trained(daemon, train_quickly(daemon, timesteps=2048))
    record = daemon.client.get_run(first)
    policy = policy_of(record)
    reference = PolicyReference(policy.worker, policy.checkpoint, record)
    again = daemon.client.start_run(resuming_document(reference, total_timesteps=4096))
    second = wait_trained(daemon, again)
    found = daemon.client.series([first, second], [EPISODIC_RETURN], buckets=0)
    episodes = {series.run_id: series for series in found}
    values = [*episodes[first].means, *episodes[second].means]

    view = shown(qtbot, application, [first, second])
    (row,) = view.page.finals.table.rows
    assert row[1] == "1", "one training, one seed"
    compared = view._compared
    assert compared is not None
    (group,) = compared.comparison.groups
    (run,) = group.runs
    assert (run.run_id, run.points, run.seed) == (second, len(values), 1)
    assert run.final == pytest.approx(np.mean(values[-100:]))
    assert set(compared.groups) == {first, second}, "both have the colour of the curve"
    assert any("one training, one curve" in warning for warning in compared.comparison.warnings)

    # The same from the command line, with the resumed run alone, and in the report.
    page = tmp_path / "report.html"
    words = ["compare", second, "--json", "--out", str(page)]
    assert main(["--home", str(daemon.home.root), *words]) == 0
    (told,) = json.loads(capsys.readouterr().out)["groups"]
    assert [each["run_id"] for each in told["runs"]] == [second]
    assert told["runs"][0]["points"] == len(values)
    assert told["runs"][0]["final"] == pytest.approx(run.final)
    assert "one training, one curve" in page.read_text()
