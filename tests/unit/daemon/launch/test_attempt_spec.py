from __future__ import annotations

import json
from pathlib import Path

import pytest

from mosaic.bundles.locks import Lock
from mosaic.contracts import worker_environment as variables
from mosaic.contracts.bundles import VenvNeed, VenvState
from mosaic.daemon.bundles.needs import ResolvedVenv
from mosaic.daemon.launch.attempt_spec import venv_variables
from mosaic.daemon.launch.command import LaunchCommand
from tests.support.bundle_builds import lock_of
from tests.support.tiny_wheels import PYTHON, make_wheel


def venv(lock: Lock, field: str = "", version: str = "") -> ResolvedVenv:
    return ResolvedVenv(
        VenvNeed(lock.bundle, field),
        VenvState.INSTALLED,
        lock,
        python=f"/venvs/{lock.bundle}/bin/python",
        python_version=version,
    )


@pytest.fixture
def locks(tmp_path: Path) -> tuple[Lock, Lock]:
    wheels = [make_wheel(tmp_path, "alpha")]
    return lock_of(wheels, "learner+atari"), lock_of(wheels, "scripts")


def test_a_worker_is_told_its_own_venv_and_those_of_its_programs(locks: tuple[Lock, Lock]) -> None:
    own, scripts = locks
    venvs = (venv(own), venv(scripts, "extras.python", "3.10.4"))
    told = venv_variables(LaunchCommand("/python", "w", venvs=venvs))
    assert told[variables.BUNDLE] == "learner+atari"
    assert told[variables.BUNDLE_LOCK] == own.hash
    (program,) = json.loads(told[variables.OTHER_BUNDLES])
    assert program == {
        "name": "scripts",
        "lock_hash": scripts.hash,
        "accelerator": "cpu",
        "python": "3.10.4",
        "interpreter": "/venvs/scripts/bin/python",
    }


def test_a_worker_beside_mosaic_is_not_said_to_have_the_venv_of_its_program(
    locks: tuple[Lock, Lock],
) -> None:
    told = venv_variables(LaunchCommand("/python", "w", venvs=(venv(locks[1], "python"),)))
    assert variables.BUNDLE not in told
    (program,) = json.loads(told[variables.OTHER_BUNDLES])
    assert (program["name"], program["python"]) == ("scripts", PYTHON)
    assert venv_variables(LaunchCommand("/python", "w")) == {}
