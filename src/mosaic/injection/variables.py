"""The variables that switch injection on, and what a script's PYTHONPATH needs for it."""

from __future__ import annotations

from pathlib import Path

BRIDGE = "MOSAIC_BRIDGE"  # path of the FIFO; without it and without a segment nothing is hooked
COMPATIBILITY = "MOSAIC_COMPATIBILITY"  # "1": the script was written for Gymnasium < 1.0

RECORDINGS = "MOSAIC_RECORDINGS"  # folder for recorded episodes; without it none are recorded
RECORDING_LIMIT = "MOSAIC_RECORDING_LIMIT"  # bytes of all files of an attempt
ATTEMPT = "MOSAIC_RECORDED_ATTEMPT"  # whose they are

SITE_FOLDER = Path(__file__).parent / "site"  # first; behind it a folder with `mosaic`
