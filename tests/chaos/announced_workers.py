"""Announces the chaos suite's own workers in a home, the way `mosaic worker add` does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mosaic.contracts.worker_manifest import WorkerManifest
from mosaic.paths import Home

FOLDER = Path(__file__).parent


def announce_workers(home: Home) -> None:
    for name in ("emitting", "printing"):
        entry_point = f"{name}_worker:get_worker_metadata"
        manifest = WorkerManifest(name, entry_point, path=(str(FOLDER),))
        (home.worker_manifests / f"{name}.toml").write_text(manifest.to_toml())


def emitting(**config: Any) -> dict[str, Any]:
    """Changes for `DaemonHarness.submit` that run the emitting worker."""
    return _run_of("emitting", config)


def printing(module: str, *arguments: str) -> dict[str, Any]:
    """The same for a misbehaving program whose standard output is its event stream."""
    return _run_of("printing", {"module": module, "arguments": list(arguments)})


def _run_of(worker: str, config: dict[str, Any]) -> dict[str, Any]:
    # `submit` drops the metadata of whatever names an entry point, unless it is given here.
    return {"entry_point": worker, "metadata": {"worker": {"config": config}}}
