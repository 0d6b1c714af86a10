"""Where sockets are: their paths hold 107 bytes, whatever folders the user chose."""

import os
import tempfile
from pathlib import Path

import pytest

from mosaic.paths import Home

RUN_ID = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
LONGEST_SOCKET_PATH = 107
ATTEMPT = 9999


def longest_socket(home: Home) -> int:
    return max(
        len(os.fsencode(path))
        for path in (home.daemon_socket, home.control_socket(RUN_ID, ATTEMPT))
    )


@pytest.mark.parametrize("length", [8, 39, 40, 41, 60, 104, 400])
@pytest.mark.parametrize("letter", ["x", "ü"])
def test_sockets_have_room_however_long_the_folder_for_temporary_files_is(
    length: int, letter: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setattr(tempfile, "tempdir", "/" + letter * length)
    assert longest_socket(Home(Path("/home/somebody"))) <= LONGEST_SOCKET_PATH


@pytest.mark.parametrize("length", [1, 60])
def test_sockets_have_room_however_long_the_runtime_folder_is(
    length: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / ("x" * length)
    folder.mkdir()
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    assert longest_socket(Home(Path("/home/somebody"))) <= LONGEST_SOCKET_PATH


def test_a_short_folder_of_the_users_own_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/dev")
    assert Home(Path("/home/somebody")).runtime.parent == Path("/dev")
    monkeypatch.delenv("XDG_RUNTIME_DIR")
    monkeypatch.setattr(tempfile, "tempdir", "/var/tmp")
    assert Home(Path("/home/somebody")).runtime.parent == Path("/var/tmp")
