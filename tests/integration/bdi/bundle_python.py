"""An interpreter that has SPADE, and programs that it runs for a test.

The environment of the tests cannot have SPADE: both want other versions of the same packages.
"""

from __future__ import annotations

import functools
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

from mosaic.bundles.building import BuildRequest, build
from mosaic.bundles.locks import read_lock
from mosaic.bundles.venv_store import python_of
from mosaic.errors import BundleError
from tests.waiting import PATIENCE_S

VARIABLE = "MOSAIC_TEST_BDI_PYTHON"
PROGRAMS = Path(__file__).parent / "programs"
SOURCE = Path(__file__).parents[3] / "src"
_LOCKS = SOURCE / "mosaic_bundles" / "locks"
_IMPORTS = ("spade", "spade_bdi.bdi", "agentspeak", "pyjabber", "uvloop")


@functools.cache
def bundle_python() -> Path:
    """The one that is named, or one in a venv that is made of the bundle's lock."""
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    lock_file = _LOCKS / "spade_bdi_worker-py{}{}-cpu.txt".format(*sys.version_info[:2])
    if not lock_file.exists():
        pytest.skip(f"there is no lock of the BDI bundle for this Python; {VARIABLE} can name one")
    # All processes of the tests share it, and it goes with their folder.
    target = Path(tempfile.gettempdir()) / "bdi-bundle" / "venv"
    lock = read_lock(lock_file.read_text(), str(lock_file))
    try:
        build(BuildRequest(lock, target, Path(sys.executable), _IMPORTS), lambda progress: None)
    except BundleError as error:
        pytest.skip(f"the BDI bundle cannot be made: {error}; {VARIABLE} can name one")
    return python_of(target)


def environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join([str(SOURCE), str(SOURCE.parent)])}


def command_for(program: str, *arguments: object) -> list[str]:
    return [str(bundle_python()), str(PROGRAMS / f"{program}.py"), *map(str, arguments)]


def run_program(
    program: str,
    *arguments: object,
    timeout_s: float = PATIENCE_S,
    variables: dict[str, str] | None = None,
) -> dict[str, Any]:
    """The JSON object on the last line that the program prints."""
    done = subprocess.run(
        command_for(program, *arguments),
        env={**environment(), **(variables or {})},
        capture_output=True,
        text=True,
        timeout=timeout_s,
    )
    assert done.returncode == 0, f"{done.stdout[-2000:]}\n{done.stderr[-4000:]}"
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told
