from __future__ import annotations

import os

from mosaic.injection.variables import SDK_FOLDER, SITE_FOLDER, injected


def test_our_folders_come_first_and_once_and_the_scripts_own_stay() -> None:
    theirs = {"PYTHONPATH": f"mine{os.pathsep}{SDK_FOLDER}", "HOME": "somewhere"}
    variables = injected(theirs, "pipe")
    assert variables["PYTHONPATH"].split(os.pathsep) == [str(SITE_FOLDER), str(SDK_FOLDER), "mine"]
    assert (SITE_FOLDER / "sitecustomize.py").is_file()
    assert (SDK_FOLDER / "mosaic" / "__init__.py").is_file()
    assert variables["MOSAIC_BRIDGE"] == "pipe" and variables["HOME"] == "somewhere"
    assert "MOSAIC_COMPATIBILITY" not in variables
    assert "MOSAIC_BRIDGE" not in theirs
    old = injected({}, "pipe", is_written_for_old_gymnasium=True)
    assert old["MOSAIC_COMPATIBILITY"] == "1"
