"""Values that are stored nowhere are kept in memory only, and masked in logs."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import pytest

from mosaic import logs
from mosaic.daemon.launch import secrets
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.errors import UnknownRunError
from mosaic.paths import Home
from tests.hostile_strings import TRAVERSALS

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OTHER = "01BX5ZZKBKACTAV9WEVGEMMVRZ"
NOBODY = 65534
needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that passes for one in shared memory."""
    shared = tmp_path / "shm"
    shared.mkdir()
    monkeypatch.setattr(secrets, "SHARED_MEMORY", shared)
    monkeypatch.setattr(secrets, "filesystem_type", lambda path: "tmpfs")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return shared


@pytest.fixture
def place(folder: Path, tmp_path: Path) -> Path:
    """Where the vault keeps its files, and where nothing is yet."""
    kept = vault(tmp_path)
    kept.put(RUN, {"A_TOKEN": "canary"})
    (place,) = folder.iterdir()
    kept.drop(RUN)
    return place


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """Somebody's files, one of them called like a run."""
    trap = tmp_path / "trap"
    trap.mkdir(mode=0o700)
    for name in ("letter.txt", RUN, OTHER):
        (trap / name).write_text('{"A_TOKEN": "planted"}')
        (trap / name).chmod(0o600)
    return trap


def vault(tmp_path: Path) -> SecretVault:
    return SecretVault(Home(tmp_path / "home"))


def test_a_new_daemon_finds_the_secrets_again(folder: Path, tmp_path: Path) -> None:
    vault(tmp_path).put(RUN, {"A_TOKEN": "canary"})
    (kept,) = folder.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700
    assert (kept / RUN).stat().st_mode & 0o777 == 0o600
    assert [path.name for path in kept.iterdir()] == [RUN]
    assert vault(tmp_path).get(RUN) == {"A_TOKEN": "canary"}


def test_two_homes_do_not_share_secrets(folder: Path, tmp_path: Path) -> None:
    vault(tmp_path).put(RUN, {"A_TOKEN": "canary"})
    assert vault(tmp_path / "elsewhere").get(RUN) is None


def test_nothing_stays_behind_once_dropped(folder: Path, tmp_path: Path) -> None:
    kept = vault(tmp_path)
    kept.put(RUN, {"A_TOKEN": "canary"})
    kept.drop(RUN)
    kept.drop(RUN)
    assert kept.get(RUN) is None
    assert list(folder.iterdir()) == []


def test_purge_forgets_all_other_runs(folder: Path, tmp_path: Path) -> None:
    kept = vault(tmp_path)
    kept.put(RUN, {"A_TOKEN": "one"})
    kept.put(OTHER, {"A_TOKEN": "two"})
    again = vault(tmp_path)
    again.purge(keep={OTHER})
    assert again.get(RUN) is None
    assert again.get(OTHER) == {"A_TOKEN": "two"}
    again.purge(keep=())
    assert list(folder.iterdir()) == []


def test_purge_removes_what_a_crash_left_half_written(place: Path, tmp_path: Path) -> None:
    place.mkdir(mode=0o700)
    (place / f".{RUN}.tmp").write_text('{"A_TOKEN": "can')
    (place / f".{RUN}.tmp").chmod(0o600)
    vault(tmp_path).purge(keep=())
    assert not place.exists()


def test_purge_touches_only_files_of_ours_that_are_called_like_runs(
    place: Path, trap: Path, tmp_path: Path
) -> None:
    place.mkdir(mode=0o700)
    (place / "notes").write_text("somebody's")
    (place / RUN).symlink_to(trap / RUN)
    (place / OTHER).mkdir()
    vault(tmp_path).purge(keep=())
    assert sorted(path.name for path in place.iterdir()) == sorted(["notes", RUN, OTHER])
    assert len(list(trap.iterdir())) == 3


def test_values_are_masked_in_logs_as_soon_as_they_are_known(folder: Path, tmp_path: Path) -> None:
    vault(tmp_path).put(RUN, {"A_TOKEN": "only used here 0451", "PIPELINE": "sk-9Q8w7E6r"})
    vault(tmp_path).put(OTHER, {"DATA_DIR": "/usr/share/only here", "FLAG": "true"})
    said = "x only used here 0451 x only%20used%20here%200451 sk-9Q8w7E6r /usr/share/only here true"
    assert logs.mask_hidden(said) == "x *** x *** *** /usr/share/only here true"


def test_values_are_masked_in_logs_until_the_last_run_that_has_them_is_over(
    folder: Path, tmp_path: Path
) -> None:
    kept = vault(tmp_path)
    kept.put(RUN, {"A_TOKEN": "shared-0451-Qx", "B_TOKEN": "own-0451-Qx"})
    kept.put(OTHER, {"A_TOKEN": "shared-0451-Qx"})
    kept.drop(RUN)
    assert logs.mask_hidden("shared-0451-Qx own-0451-Qx") == "*** own-0451-Qx"
    kept.purge(keep=())
    assert logs.mask_hidden("shared-0451-Qx") == "shared-0451-Qx"


def test_without_a_memory_file_system_secrets_live_in_the_process_only(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(secrets, "filesystem_type", lambda path: "ext4")
    kept = vault(tmp_path)
    kept.put(RUN, {"A_TOKEN": "canary"})
    assert not kept.survives_restart
    assert kept.get(RUN) == {"A_TOKEN": "canary"}
    assert vault(tmp_path).get(RUN) is None
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_planted_link_is_neither_written_nor_read_nor_emptied(
    place: Path, trap: Path, tmp_path: Path
) -> None:
    place.symlink_to(trap)
    kept = vault(tmp_path)
    kept.purge(keep=())
    assert kept.get(RUN) is None
    kept.put(RUN, {"A_TOKEN": "canary"})
    kept.drop(OTHER)
    assert kept.get(RUN) == {"A_TOKEN": "canary"}, "it lives on in memory"
    assert {path.read_text() for path in trap.iterdir()} == {'{"A_TOKEN": "planted"}'}
    assert len(list(trap.iterdir())) == 3


def test_what_is_in_the_way_is_said_until_it_is_gone(place: Path, tmp_path: Path) -> None:
    kept = vault(tmp_path)
    kept.purge(keep=())
    assert kept.problem == "" and kept.survives_restart
    place.write_text("")
    kept.purge(keep=())
    assert str(place) in kept.problem and "XDG_RUNTIME_DIR" in kept.problem
    assert not kept.survives_restart
    place.unlink()
    kept.put(RUN, {"A_TOKEN": "canary"})
    assert kept.problem == "" and (place / RUN).exists()


@needs_root
def test_a_folder_of_another_user_is_not_used(place: Path, tmp_path: Path) -> None:
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    (place / RUN).write_text('{"A_TOKEN": "planted"}')
    for path in (place, place / RUN):
        os.chown(path, NOBODY, NOBODY)
    kept = vault(tmp_path)
    kept.purge(keep=())
    assert kept.get(RUN) is None
    assert f"belongs to another user ({NOBODY})" in kept.problem
    kept.put(OTHER, {"A_TOKEN": "canary"})
    assert [path.name for path in place.iterdir()] == [RUN]


@needs_root
def test_a_file_of_another_user_is_neither_read_nor_removed(place: Path, tmp_path: Path) -> None:
    place.mkdir(mode=0o700)
    (place / RUN).write_text('{"A_TOKEN": "planted"}')
    (place / RUN).chmod(0o600)
    os.chown(place / RUN, NOBODY, NOBODY)
    kept = vault(tmp_path)
    assert kept.get(RUN) is None
    kept.purge(keep=())
    assert (place / RUN).exists()


def test_a_file_with_a_second_name_or_for_everybody_is_not_read(
    place: Path, trap: Path, tmp_path: Path
) -> None:
    place.mkdir(mode=0o700)
    (place / RUN).hardlink_to(trap / RUN)
    assert vault(tmp_path).get(RUN) is None
    (place / OTHER).write_text('{"A_TOKEN": "planted"}')
    (place / OTHER).chmod(0o644)
    assert vault(tmp_path).get(OTHER) is None


def test_a_pipe_in_place_of_a_file_does_not_stop_the_daemon(place: Path, tmp_path: Path) -> None:
    place.mkdir(mode=0o700)
    os.mkfifo(place / RUN, 0o600)
    assert vault(tmp_path).get(RUN) is None


def test_damaged_files_count_as_lost(folder: Path, tmp_path: Path) -> None:
    vault(tmp_path).put(RUN, {"A_TOKEN": "canary"})
    (place,) = folder.iterdir()
    for content in ("", "[]", "{", "\x00"):
        (place / RUN).write_text(content)
        assert vault(tmp_path).get(RUN) is None
    (place / RUN).write_text(json.dumps({"A_TOKEN": "canary"}))
    assert vault(tmp_path).get(RUN) == {"A_TOKEN": "canary"}


@pytest.mark.parametrize("name", TRAVERSALS)
def test_hostile_ids_touch_no_file(folder: Path, tmp_path: Path, name: str) -> None:
    kept = vault(tmp_path)
    with pytest.raises(UnknownRunError):
        kept.put(name, {"A": "b"})
    with pytest.raises(UnknownRunError):
        kept.get(name)
    with pytest.raises(UnknownRunError):
        kept.drop(name)
    assert list(folder.iterdir()) == []


def test_threads_may_come_and_go_at_the_same_time(folder: Path, tmp_path: Path) -> None:
    kept = vault(tmp_path)
    failures: list[object] = []

    def use(run_id: str) -> None:
        for number in range(50):
            kept.put(run_id, {"A_TOKEN": f"{run_id}-{number}"})
            if kept.get(run_id) != {"A_TOKEN": f"{run_id}-{number}"}:
                failures.append(run_id)
            kept.drop(run_id)

    threads = [threading.Thread(target=use, args=(run_id,)) for run_id in (RUN, OTHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert list(folder.iterdir()) == []
