"""Secrets are split off, kept in memory only, and masked in logs."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from mosaic import logs
from mosaic.daemon.launch import secrets
from mosaic.daemon.launch.secrets import SecretVault, needed_secrets, redact_config, split_secrets
from mosaic.errors import UnknownRunError
from mosaic.paths import Home
from tests.hostile_strings import TRAVERSALS

RUN = "01ARZ3NDEKTSV4RRFFQ69G5FAV"
OTHER = "01BX5ZZKBKACTAV9WEVGEMMVRZ"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory that passes for one in shared memory."""
    shared = tmp_path / "shm"
    shared.mkdir()
    monkeypatch.setattr(secrets, "SHARED_MEMORY", shared)
    monkeypatch.setattr(secrets, "filesystem_type", lambda path: "tmpfs")
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    return shared


def vault(tmp_path: Path) -> SecretVault:
    return SecretVault(Home(tmp_path / "home"))


def test_secret_names_are_split_off() -> None:
    public, secret = split_secrets(
        {"WANDB_API_KEY": "k", "MY_TOKEN": "t", "LICENCE": "l", "SEED": "1", "EMPTY_TOKEN": ""},
        {"MOSAIC_SECRET_ENV": "LICENCE, OTHER"},
    )
    assert secret == {"WANDB_API_KEY": "k", "MY_TOKEN": "t", "LICENCE": "l"}
    assert public == {"SEED": "1", "EMPTY_TOKEN": ""}


def test_the_stored_config_refers_to_secrets_and_leaves_the_original_alone() -> None:
    raw = {"run_name": "a", "environment": {"WANDB_API_KEY": "canary", "SEED": "1"}}
    stored = redact_config(raw, RUN, {})
    assert stored["environment"] == {"WANDB_API_KEY": f"secret://{RUN}/WANDB_API_KEY", "SEED": "1"}
    assert "canary" not in json.dumps(stored)
    assert raw["environment"] == {"WANDB_API_KEY": "canary", "SEED": "1"}
    assert needed_secrets(stored["environment"]) == {"WANDB_API_KEY"}
    assert redact_config(stored, RUN, {}) == stored


def test_a_new_daemon_finds_the_secrets_again(folder: Path, tmp_path: Path) -> None:
    vault(tmp_path).put(RUN, {"A_TOKEN": "canary"})
    (kept,) = folder.iterdir()
    assert kept.stat().st_mode & 0o777 == 0o700
    assert (kept / RUN).stat().st_mode & 0o777 == 0o600
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


def test_values_are_masked_in_logs_as_soon_as_they_are_known(folder: Path, tmp_path: Path) -> None:
    vault(tmp_path).put(RUN, {"A_TOKEN": "only used here 0451"})
    assert logs.mask_hidden("x only used here 0451 x") == "x *** x"


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


def test_a_folder_somebody_else_prepared_is_not_used(folder: Path, tmp_path: Path) -> None:
    kept = vault(tmp_path)
    kept.put(RUN, {"A_TOKEN": "canary"})
    (place,) = folder.iterdir()
    kept.drop(RUN)
    trap = tmp_path / "trap"
    trap.mkdir()
    place.symlink_to(trap)
    kept.put(RUN, {"A_TOKEN": "canary"})
    assert list(trap.iterdir()) == []
    assert kept.get(RUN) == {"A_TOKEN": "canary"}


def test_damaged_files_count_as_lost(folder: Path, tmp_path: Path) -> None:
    vault(tmp_path).put(RUN, {"A_TOKEN": "canary"})
    (place,) = folder.iterdir()
    for content in ("", "[]", "{", "\x00"):
        (place / RUN).write_text(content)
        assert vault(tmp_path).get(RUN) is None


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
