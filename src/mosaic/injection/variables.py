"""The variables that switch injection on, and the environment of a script under it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

BRIDGE = "MOSAIC_BRIDGE"  # path of the FIFO; without it and without a segment nothing is hooked
COMPATIBILITY = "MOSAIC_COMPATIBILITY"  # "1": the script was written for Gymnasium < 1.0

SITE_FOLDER = Path(__file__).parent / "site"
SDK_FOLDER = Path(__file__).parents[2]


def injected(
    variables: Mapping[str, str], bridge: str, *, is_written_for_old_gymnasium: bool = False
) -> dict[str, str]:
    """The same variables for a script under injection; its own PYTHONPATH comes behind ours."""
    changed = dict(variables)
    inherited = variables.get("PYTHONPATH", "").split(os.pathsep)
    ours = [str(SITE_FOLDER), str(SDK_FOLDER)]
    changed["PYTHONPATH"] = os.pathsep.join(
        ours + [entry for entry in inherited if entry and entry not in ours]
    )
    changed[BRIDGE] = bridge
    if is_written_for_old_gymnasium:
        changed[COMPATIBILITY] = "1"
    return changed
