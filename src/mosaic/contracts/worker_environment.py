"""Variables the daemon sets for a worker. A worker without them runs alone, events on stdout."""

from __future__ import annotations

RUN_ID = "MOSAIC_RUN_ID"
RUN_DIR = "MOSAIC_RUN_DIR"
OUTPUT_DIR = "MOSAIC_OUTPUT_DIR"
ATTEMPT = "MOSAIC_ATTEMPT"
JOURNAL = "MOSAIC_JOURNAL"
AGENT_ID = "MOSAIC_AGENT_ID"
WORKER_ID = "MOSAIC_WORKER_ID"
MAX_STEPS = "MOSAIC_MAX_STEPS"
HEARTBEAT_S = "MOSAIC_HEARTBEAT_S"
# Names, separated by commas, of variables whose values the SDK keeps out of the journal.
SECRET_NAMES = "MOSAIC_SECRET_NAMES"
# "stdin": JSON lines {"command": "stop" | "pause" | "resume", …} arrive on standard input.
CONTROL = "MOSAIC_CONTROL"
# Path of the run's segment for live frames (`mosaic.fastlane`).
FASTLANE_SEGMENT = "MOSAIC_FASTLANE_SEGMENT"
# For workers that speak gRPC themselves: the daemon's address and this attempt's token.
TRAINER_ADDRESS = "MOSAIC_TRAINER_ADDRESS"
TOKEN_FILE = "MOSAIC_TOKEN_FILE"
# What its venv was made from; absent where it runs beside MOSAIC.
BUNDLE = "MOSAIC_BUNDLE"
BUNDLE_LOCK = "MOSAIC_BUNDLE_LOCK"
BUNDLE_ACCELERATOR = "MOSAIC_BUNDLE_ACCELERATOR"
BUNDLE_PYTHON = "MOSAIC_BUNDLE_PYTHON"  # its interpreter
# A JSON list about the venvs of programs that it runs, as in `other_bundles` of analytics.json.
OTHER_BUNDLES = "MOSAIC_OTHER_BUNDLES"
