"""Whether a window can be opened, found out before Qt ends the program."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mosaic.cli.main import main
from mosaic.gui.display import WAYLAND, XCB, find_obstacle


def everything(name: str) -> bool:
    return True


def test_without_a_display_there_is_no_window() -> None:
    found = find_obstacle({}, "linux", everything, everything)
    assert found is not None and "no display" in found.message and not found.packages


@pytest.mark.parametrize("platform", ["darwin", "win32"])
def test_other_systems_always_have_one(platform: str) -> None:
    assert find_obstacle({}, platform, everything, everything) is None


@pytest.mark.parametrize("chosen", ["offscreen", "minimal", "vnc:size=800x600"])
def test_a_platform_without_a_display_needs_none(chosen: str) -> None:
    assert find_obstacle({"QT_QPA_PLATFORM": chosen}, "linux", lambda name: False) is None


def test_missing_libraries_are_named_with_their_packages() -> None:
    gone = {"libxcb-icccm.so.4", "libxcb-keysyms.so.1"}
    found = find_obstacle({"DISPLAY": ":0"}, "linux", lambda name: name not in gone, everything)
    assert found is not None
    assert found.packages == ("libxcb-icccm4", "libxcb-keysyms1")
    assert "libxcb-icccm.so.4" in found.message
    assert found.hint == "sudo apt-get install libxcb-icccm4 libxcb-keysyms1"


def test_what_is_named_as_missing_is_what_the_script_installs() -> None:
    script = Path(__file__).parents[3] / "tools" / "install_system_packages.sh"
    installed = set(re.findall(r"lib[a-z0-9.-]+", script.read_text()))
    assert {*XCB.values(), *WAYLAND.values()} <= installed


def test_what_qt_itself_is_linked_to_is_named() -> None:
    for needed in ("libglib-2.0.so.0", "libEGL.so.1", "libfontconfig.so.1"):
        assert needed in XCB and needed in WAYLAND


def test_a_display_that_does_not_answer_is_said() -> None:
    found = find_obstacle({"DISPLAY": ":42"}, "linux", everything, lambda display: False)
    assert found is not None and ":42 does not answer" in found.message


def test_wayland_is_enough(tmp_path: Path) -> None:
    (tmp_path / "wayland-0").touch()
    environ = {"WAYLAND_DISPLAY": "wayland-0", "XDG_RUNTIME_DIR": str(tmp_path)}
    only_wayland = set(WAYLAND)
    assert find_obstacle(environ, "linux", only_wayland.__contains__, everything) is None
    found = find_obstacle(environ, "linux", lambda name: False, everything)
    assert found is not None and "libwayland-client0" in found.packages


def test_without_waylands_libraries_x11_is_taken(tmp_path: Path) -> None:
    (tmp_path / "wayland-0").touch()
    environ = {
        "WAYLAND_DISPLAY": "wayland-0",
        "XDG_RUNTIME_DIR": str(tmp_path),
        "DISPLAY": ":0",
    }
    assert find_obstacle(environ, "linux", set(XCB).__contains__, everything) is None


def test_nobody_listens_at_a_display_that_is_not_there() -> None:
    found = find_obstacle({"DISPLAY": ":4242"}, "linux", everything)
    assert found is not None and "does not answer" in found.message


def test_the_command_says_it_in_a_sentence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("PySide6", reason="PySide6 (extra `gui`) is not installed")
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert main(["gui"]) == 2
    message, hint = capsys.readouterr().err.splitlines()
    assert message == "mosaic: There is no display here for a window"
    assert "mosaic train" in hint


def test_the_command_names_the_extra_that_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert main(["gui"]) != 0
    assert 'pip install "mosaic-rl[gui]"' in capsys.readouterr().err
