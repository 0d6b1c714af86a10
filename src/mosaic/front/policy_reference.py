"""Which checkpoint a person means: that of a run, or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mosaic.contracts.consent import field_at
from mosaic.contracts.run_state import Outcome
from mosaic.errors import ConfigError, RequestError, UnknownRunError
from mosaic.front.local_run import named_by
from mosaic.front.run_reference import resolve_run

SAVING = "save_model"  # what algorithms call the parameter

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.run_record import RunRecord
    from mosaic.wire.answers import WorkerInfo


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
        return PolicyReference(worker or only_loader(client.workers()), path.absolute(), None)
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
    checkpoint = named_by(record, record.checkpoint_uri, "checkpoint_uri")
    return PolicyReference(worker or record.worker, checkpoint, record)


def why_no_checkpoint(record: RunRecord) -> str:
    """Of a run that has saved none, and what to do; the record has to have its config."""
    extras = field_at(record.config, "metadata.worker.config.extras") or {}
    if field_at(extras, f"algo_params.{SAVING}") is False:
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


def only_loader(workers: list[WorkerInfo]) -> str:
    """The one worker that can load a policy from a file."""
    able = [
        worker.name
        for worker in workers
        if worker.capabilities is not None and worker.capabilities.supports_policy_load
    ]
    if len(able) == 1:
        return able[0]
    raise RequestError(
        "Which worker shall load this file?" if able else "No worker here can load a policy",
        hint=f"say --worker {' or '.join(able)}" if able else "see `mosaic workers`",
    )
