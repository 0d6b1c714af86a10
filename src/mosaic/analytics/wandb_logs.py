"""Which W&B logs belong to a run."""

from __future__ import annotations

from pathlib import Path

from mosaic.analytics.wandb_reader import find_logs
from mosaic.contracts.manifest import AnalyticsManifest, artifact_path

OFFLINE_PREFIX = "offline-run-"


def wandb_logs(directory: Path, manifest: AnalyticsManifest, *, may_leave: bool) -> list[Path]:
    """Oldest first. A run that was retried or resumed has several.

    Raises CorruptStoreError where the run names a place outside of its folder and may not.
    """
    listed = manifest.metadata.get("wandb_folders")
    named = [str(path) for path in listed] if isinstance(listed, list) else []
    fields = {path: "metadata.wandb_folders" for path in named}
    fields[manifest.wandb.relative_path] = "wandb.relative_path"
    places = fields if manifest.wandb.enabled else {}
    logs: set[Path] = set()
    for place, field in {**places, ".": "wandb"}.items():
        folder = artifact_path(directory, place, field, may_leave=may_leave)
        found = {*find_logs(folder), *folder.glob("run-*.wandb")}  # or of one run itself
        # A log may be a link, too.
        logs |= {artifact_path(directory, str(log), field, may_leave=may_leave) for log in found}
    return sorted(logs, key=lambda log: (log.parent.name.removeprefix("offline-"), log.name))


def is_offline(log: Path) -> bool:
    return log.parent.name.startswith(OFFLINE_PREFIX)
