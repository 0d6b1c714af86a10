"""A run whose files are on this machine, with what its analytics.json says about them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from mosaic.contracts.manifest import AnalyticsManifest, artifact_path, read_manifest
from mosaic.contracts.run_files import RunFiles
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.errors import RequestError


@dataclass(frozen=True)
class LocalRun:
    record: RunRecord
    directory: Path
    manifest: AnalyticsManifest

    @property
    def may_leave(self) -> bool:
        return may_leave_its_folder(self.record)


def named_by(record: RunRecord, named: str, field: str) -> Path:
    """The file that a run on this machine names; raises where that is not the run's to name."""
    directory = Path(record.paths["run_directory"])
    return artifact_path(directory, named, field, may_leave=may_leave_its_folder(record))


def may_leave_its_folder(record: RunRecord) -> bool:
    """Whether the run may name files outside of its folder, as a script here does."""
    return record.origin is not Origin.IMPORTED


def local_run(record: RunRecord) -> LocalRun:
    """Raises when the run is elsewhere, or when its manifest is damaged, naming the field."""
    directory = Path(record.paths.get("run_directory", ""))
    if not record.paths or not directory.is_dir():
        raise RequestError(
            f"The files of run {record.run_id} are not on this machine",
            hint="use the command where its daemon runs",
        )
    manifest = read_manifest(RunFiles(directory).manifest)
    return LocalRun(record, directory, manifest or AnalyticsManifest(record.run_id, record.worker))
