"""What a watched script sees of its worker's variables."""

from __future__ import annotations

import os

from mosaic.fastlane.settings import GRID, SINGLE, read_settings
from mosaic.watch.config import ScriptConfig
from mosaic.watch.variables import script_variables


def variables(config: ScriptConfig, **own: str) -> dict[str, str]:
    return script_variables(own, config, bridge="/b", import_folders=("/site", "/sdk"))


def test_hooks_come_first_and_the_users_own_path_stays() -> None:
    seen = variables(ScriptConfig(("true",)), PYTHONPATH=f"/mine{os.pathsep}", HOME="/me")
    assert seen["PYTHONPATH"] == os.pathsep.join(("/site", "/sdk", "/mine"))
    assert seen["MOSAIC_BRIDGE"] == "/b"
    assert seen["HOME"] == "/me"


def test_what_speaks_to_the_worker_is_not_passed_on() -> None:
    own = {
        "MOSAIC_JOURNAL": "/j",
        "MOSAIC_CONTROL": "stdin",
        "MOSAIC_TOKEN_FILE": "/t",
        "MOSAIC_TRAINER_ADDRESS": "unix:/s",
        "MOSAIC_COMPATIBILITY": "1",
        "OMP_NUM_THREADS": "1",
        "MOSAIC_FASTLANE_SEGMENT": "/dev/shm/x",
    }
    seen = variables(ScriptConfig(("true",), unset_variables=("OMP_NUM_THREADS",)), **own)
    assert own.keys() & seen.keys() == {"MOSAIC_FASTLANE_SEGMENT"}


def test_the_live_view_is_told_as_its_reader_expects() -> None:
    config = ScriptConfig(("true",), video_mode="single", fastlane_slot=3, fastlane_grid_limit=4)
    settings = read_settings(variables(config))
    assert (settings.mode, settings.slot, settings.grid_limit) == (SINGLE, 3, 4)
    assert read_settings(variables(ScriptConfig(("true",)))).mode == GRID


def test_compatibility_and_interpreter_are_passed_on() -> None:
    config = ScriptConfig(("python",), compatibility=True, env_python="/venv/bin/python")
    seen = variables(config, PATH="/usr/bin")
    assert seen["MOSAIC_COMPATIBILITY"] == "1"
    assert seen["PATH"] == f"/venv/bin{os.pathsep}/usr/bin"
