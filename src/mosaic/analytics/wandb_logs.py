"""Which W&B logs belong to a run."""

from __future__ import annotations

from pathlib import Path

from mosaic.analytics.wandb_reader import find_logs
from mosaic.contracts.manifest import AnalyticsManifest

OFFLINE_PREFIX = "offline-run-"


def wandb_logs(directory: Path, manifest: AnalyticsManifest) -> list[Path]:
    """Oldest first. A run that was retried or resumed has several."""
    listed = manifest.metadata.get("wandb_folders")
    named = [str(path) for path in listed] if isinstance(listed, list) else []
    places = [manifest.wandb.relative_path, *named] if manifest.wandb.enabled else []
    logs: set[Path] = set()
    for place in (*places, "."):
        folder = directory / place
        logs.update(find_logs(folder))
        logs.update(folder.glob("run-*.wandb"))  # the folder of one run itself
    unique = {log.resolve(): log for log in sorted(logs)}
    return sorted(unique, key=lambda log: (log.parent.name.removeprefix("offline-"), log.name))


def is_offline(log: Path) -> bool:
    return log.parent.name.startswith(OFFLINE_PREFIX)
