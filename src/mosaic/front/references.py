"""Which run, checkpoint or worker a person means, and where the files of a run here are."""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.manifest import AnalyticsManifest, artifact_path, read_manifest
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.contracts.run_reference import LATEST, choose_run, choose_runs
from mosaic.contracts.run_state import Outcome
from mosaic.errors import (
    ConfigError,
    DependencyError,
    RequestError,
    UnknownRunError,
    UnknownWorkerError,
)

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.capabilities import WorkerCapabilities
    from mosaic.contracts.worker_info import WorkerInfo

HELP = "id, beginning or end of an id (4 characters or more), name, or 'latest'"
GROUP_HELP = f"{HELP}; the name of a group means all its runs"


class RunLister(Protocol):
    def list_runs(self, *, limit: int) -> list[RunRecord]: ...


def resolve_run(client: RunLister, text: str) -> str:
    """The id of the run that is meant; raises with the candidates when several could be."""
    return choose_run(_listed(client, [text]), text)


def resolve_runs(client: RunLister, texts: Sequence[str]) -> list[str]:
    """The ids of all that is meant, each once; the name of a group stands for its runs."""
    runs = _listed(client, texts)
    return list(dict.fromkeys(run_id for text in texts for run_id in choose_runs(runs, text)))


def _listed(client: RunLister, texts: Sequence[str]) -> list[RunRecord]:
    """As many as it takes to tell."""
    words = [text for text in texts if not is_run_id(text.upper())]
    if not words:
        return []
    return client.list_runs(limit=1 if all(word.lower() in LATEST for word in words) else 0)


@dataclass(frozen=True)
class LocalRun:
    record: RunRecord
    directory: Path
    manifest: AnalyticsManifest

    @property
    def may_leave(self) -> bool:
        return may_leave_its_folder(self.record)


def named_file(record: RunRecord, named: str, field: str) -> Path:
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
    from mosaic.contracts.run_files import RunFiles

    manifest = read_manifest(RunFiles(directory).manifest)
    return LocalRun(record, directory, manifest or AnalyticsManifest(record.run_id, record.worker))


SAVING = "save_model"  # what algorithms call the parameter


class PolicyReference(NamedTuple):
    worker: str
    checkpoint: Path
    run: RunRecord | None

    @property
    def label(self) -> str:
        return self.run.run_name if self.run else self.checkpoint.stem


def find_policy(client: TrainerClient, text: str, worker: str | None = None) -> PolicyReference:
    """A path wins when it exists or looks like one; everything else is a run."""
    path = Path(text).expanduser()
    if path.exists():
        return PolicyReference(worker or only_loader(client.workers(), path), path.absolute(), None)
    try:
        run_id = resolve_run(client, text)
    except UnknownRunError as error:
        if "/" not in text:
            raise
        raise RequestError(
            f"There is no file {text}", hint="give a run, or a checkpoint"
        ) from error
    record = client.get_run(run_id)
    if not record.checkpoint_uri:
        raise ConfigError(
            f"The run {record.run_name} ({run_id}) has no checkpoint",
            hint=why_no_checkpoint(record),
            field="run",
        )
    checkpoint = named_file(record, record.checkpoint_uri, "checkpoint_uri")
    return PolicyReference(worker or record.worker, checkpoint, record)


def why_no_checkpoint(record: RunRecord) -> str:
    """Of a run that has saved none, and what to do; the record has to have its config."""
    from mosaic.contracts.learner import read_request, worker_settings

    request = read_request(worker_settings(record.config))
    if request is not None and request.parameters.get(SAVING) is False:
        return f"it was told to save none: train again without {SAVING}=false"
    if record.capabilities and not record.capabilities.get("supports_checkpointing"):
        return f"the worker {record.worker} saves none; `mosaic algos` lists what does"
    if not record.is_over:
        return "wait for the first one, or stop the run: stopping saves one"
    if record.outcome is Outcome.SUCCEEDED:
        return (
            "it ran to its end and saved none; if its algorithm has the parameter, "
            f"train again with --set {SAVING}=true"
        )
    return "it ended before the first one was saved: train again, for longer"


def find_worker(workers: list[WorkerInfo], name: str) -> WorkerCapabilities:
    for worker in workers:
        if worker.name == name:
            if worker.capabilities is None:
                raise DependencyError(
                    f"The worker {name} cannot be used: {worker.error}",
                    hint="`mosaic workers --refresh` looks again",
                )
            return worker.capabilities
    names = [worker.name for worker in workers]
    close = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean {close[0]!r}? " if close else ""
    raise UnknownWorkerError(
        f"There is no worker {name[:80]!r}",
        hint=f"{hint}known workers: {', '.join(sorted(names)) or 'none'}",
    )


def only_loader(workers: list[WorkerInfo], path: Path) -> str:
    """The one worker that can load a policy from this file."""
    able = policy_loaders(workers, path)
    if len(able) == 1:
        return able[0]
    raise RequestError(
        "Which worker shall load this file?" if able else "No worker here can load this policy",
        hint=f"say --worker {' or '.join(able)}" if able else "see `mosaic workers`",
    )


def policy_loaders(workers: Sequence[WorkerInfo], path: Path) -> list[str]:
    """Workers that may be able to load it: those that know files like it, else those that do not
    say which ones they know."""
    able = [
        (worker.name, worker.capabilities.checkpoint_suffixes)
        for worker in workers
        if worker.capabilities is not None and worker.capabilities.supports_policy_load
    ]
    known = [name for name, suffixes in able if path.suffix and path.suffix in suffixes]
    return known or [name for name, suffixes in able if not suffixes]
