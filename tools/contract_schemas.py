"""Writes the JSON Schemas that are derived from the contracts' dataclasses."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.manifest import AnalyticsManifest, RuntimeSummary
from mosaic.worker.config import config_schema

FOLDER = Path(__file__).resolve().parents[1] / "src" / "mosaic" / "contracts" / "schemas"
DERIVED = {
    "worker_capabilities": WorkerCapabilities,
    "analytics": AnalyticsManifest,
    "runtime_summary": RuntimeSummary,
}


def derived_schemas() -> dict[str, dict[str, Any]]:
    dialect = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {name: {**dialect, **config_schema(cls)} for name, cls in DERIVED.items()}


if __name__ == "__main__":
    for name, schema in derived_schemas().items():
        path = FOLDER / f"{name}.schema.json"
        path.write_text(json.dumps(schema, indent=2) + "\n")
