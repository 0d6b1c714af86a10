"""Which checkpoint a person means: that of a run, or a file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from mosaic.errors import ConfigError, RequestError, UnknownRunError
from mosaic.front.local_run import named_by
from mosaic.front.run_reference import resolve_run

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
            hint="it ended before the first one was saved"
            if record.is_over
            else "wait for the first one, or stop the run: stopping saves one",
            field="run",
        )
    checkpoint = named_by(record, record.checkpoint_uri, "checkpoint_uri")
    return PolicyReference(worker or record.worker, checkpoint, record)


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
