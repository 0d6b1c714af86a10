"""A home of an earlier version loses the values it should not have stored, and nothing else."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.run_config import parse_run_config
from mosaic.daemon.launch import secrets, stored_configs
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.daemon.launch.stored_configs import upgrade_home
from mosaic.files import atomic_write_json
from mosaic.paths import Home
from tests.daemon_harness import run_document

RUN, QUEUED, TRASHED, NEW = (f"01ARZ3NDEKTSV4RRFFQ69G5F{end}" for end in ("AA", "BB", "CC", "DD"))
ENVIRONMENT = {"DATA_DIR": "canary-1", "PGPASSWORD": "canary-2", "MUJOCO_GL": "egl"}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    shared = tmp_path / "shm"
    shared.mkdir()
    monkeypatch.setattr(secrets, "SHARED_MEMORY", shared)
    monkeypatch.setattr(secrets, "filesystem_type", lambda path: "tmpfs")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(shared))
    home = Home(tmp_path / "home")
    home.create()
    for run_id in (RUN, QUEUED):
        put(home.config(run_id))
    put(home.policy_config(RUN))
    put(home.trash / TRASHED / "configs" / f"config-{TRASHED}.json")
    return home


def put(path: Path, **changes: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(run_document(environment=ENVIRONMENT, **changes)))


def values_in(home: Home) -> list[Path]:
    return [
        path for path in home.root.rglob("*") if path.is_file() and b"canary" in path.read_bytes()
    ]


def test_values_go_from_configs_evaluations_and_the_trash(home: Home) -> None:
    assert len(values_in(home)) == 4
    assert upgrade_home(home, SecretVault(home), unfinished=()) == 4
    assert values_in(home) == []
    config = parse_run_config(json.loads(home.config(RUN).read_text()))
    assert config.environment == {
        "DATA_DIR": f"secret://{RUN}/DATA_DIR",
        "PGPASSWORD": f"secret://{RUN}/PGPASSWORD",
        "MUJOCO_GL": "egl",
    }
    assert config.raw == {**run_document(), "environment": config.environment}
    assert home.config(RUN).stat().st_mode & 0o777 == 0o600


def test_it_happens_once(home: Home) -> None:
    vault = SecretVault(home)
    upgrade_home(home, vault, unfinished=())
    put(home.config(NEW))
    assert upgrade_home(home, vault, unfinished=()) == 0
    assert values_in(home) == [home.config(NEW)]
    home.format.write_text("{")  # damaged: better once too often
    assert upgrade_home(home, vault, unfinished=()) == 1


def test_runs_that_have_yet_to_start_keep_their_values_in_the_vault(home: Home) -> None:
    SecretVault(home).put(QUEUED, {"WANDB_API_KEY": "canary-0"})
    upgrade_home(home, SecretVault(home), unfinished={QUEUED})
    assert SecretVault(home).get(QUEUED) == {
        "WANDB_API_KEY": "canary-0", "DATA_DIR": "canary-1", "PGPASSWORD": "canary-2",
    }  # fmt: skip
    assert SecretVault(home).get(RUN) is None


@pytest.mark.parametrize("writes", range(5))
def test_cut_off_after_any_write_it_is_finished_by_the_next_start(
    home: Home, monkeypatch: pytest.MonkeyPatch, writes: int
) -> None:
    class PowerCut(BaseException):
        pass

    made = [0]

    def cut(*arguments: Any) -> None:
        if made[0] == writes:
            raise PowerCut
        made[0] += 1
        atomic_write_json(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(stored_configs, "atomic_write_json", cut)
        with pytest.raises(PowerCut):
            upgrade_home(home, SecretVault(home), unfinished={QUEUED})
    assert len(values_in(home)) == max(0, 4 - writes)
    upgrade_home(home, SecretVault(home), unfinished={QUEUED})
    assert values_in(home) == []
    assert SecretVault(home).get(QUEUED) == {"DATA_DIR": "canary-1", "PGPASSWORD": "canary-2"}


def test_a_full_disk_is_tried_again_at_the_next_start(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(stored_configs, "atomic_write_json", full)
        assert upgrade_home(home, SecretVault(home), unfinished=()) == 0
    assert upgrade_home(home, SecretVault(home), unfinished=()) == 4


def test_what_is_damaged_or_none_of_ours_is_left_alone(home: Home) -> None:
    strange = {
        f"config-{NEW}.json": "{",
        f"config-{NEW}-policy.json": "[]",
        "config-x.json": '{"environment": {"A": "b"}}',
        f"worker-{RUN}-1.json": '{"env_id": "x"}',
    }
    for name, text in strange.items():
        (home.configs / name).write_text(text)
    assert upgrade_home(home, SecretVault(home), unfinished=()) == 4
    assert {name: (home.configs / name).read_text() for name in strange} == strange


@pytest.mark.timeout(20)
def test_what_is_no_plain_file_keeps_no_other_config_as_it_was(home: Home) -> None:
    (home.trash / NEW).mkdir()
    (home.trash / NEW / "configs").write_text("no folder")
    home.config("00000000000000000000000000").mkdir()
    os.mkfifo(home.config("00000000000000000000000001"))
    assert upgrade_home(home, SecretVault(home), unfinished=()) == 4
    assert values_in(home) == []
    assert home.format.exists()


def test_what_a_crash_of_an_earlier_daemon_left_half_written_goes(home: Home) -> None:
    left = home.configs / f".config-{RUN}.json.17.0badcafe.tmp"
    left.write_text(json.dumps(ENVIRONMENT))
    upgrade_home(home, SecretVault(home), unfinished=())
    assert not left.exists()
