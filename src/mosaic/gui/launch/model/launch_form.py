"""LaunchForm: a form together with what it starts. One subclass for each thing to start."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from mosaic.contracts.worker_info import WorkerInfo
from mosaic.front.command_line import PROGRAM
from mosaic.front.human import amount
from mosaic.front.training_config import label
from mosaic.gui.forms.model.fields import EntryError, Field, FieldKind, read_entry
from mosaic.gui.forms.model.form_state import FormState
from mosaic.gui.launch.model.field_lookup import field_values
from mosaic.gui.state.compatibility import missing_packages
from mosaic.gui.state.targets import Operation, PolicyTarget
from mosaic.gui.state.workbench_state import Connection, WorkbenchState
from mosaic.gui.state.worker_bundles import can_start, has_bundles

_ENVIRONMENT = Field("env_id", "Environment", FieldKind.ENVIRONMENT, is_required=True)

Document = dict[str, Any]


class Problem(NamedTuple):
    """Why nothing can be started now, and the field where that can be mended."""

    text: str
    field: str = ""


class Footprint(NamedTuple):
    runs: int
    cpus: int
    memory_mb: int
    gpus: int = 0

    @property
    def text(self) -> str:
        device = "CPU" if self.cpus == 1 else f"{self.cpus} CPUs"
        if self.gpus:
            device = "GPU"
        memory = f"{self.memory_mb / 1024:.3g} GB"
        if self.runs == 1:
            return f"{device} · {memory}"
        return f"{amount(self.runs, 'run')} · {device} · {memory} each"


class LaunchForm:
    operation: Operation
    button: str

    def __init__(self, state: WorkbenchState, worker: str) -> None:
        self.state, self.worker = state, worker
        self.policy: PolicyTarget | None = None
        self.form = FormState(rules=self.rules)

    # What subclasses say

    def refresh(self) -> None:
        """Makes the fields anew from what the daemon and the catalogue say now."""
        raise NotImplementedError

    def prepare(self) -> Callable[[], list[Document]]:
        """Reads the form now; the function may look at files, so it is called in a thread."""
        raise NotImplementedError

    def command_words(self) -> list[str]:
        """What follows `mosaic` on the command line that does the same, without secrets."""
        raise NotImplementedError

    def footprint(self) -> Footprint:
        raise NotImplementedError

    def rules(self, values: Mapping[str, Any]) -> Mapping[str, str]:
        """What is wrong between fields."""
        found = {}
        name = values.get("run_name")
        if name and not label(name).strip("-._"):
            found["run_name"] = "Give it a letter or a digit"
        for field in self.form.fields:
            if field.disabled_reason and values.get(field.name) != field.default:
                found[field.name] = field.disabled_reason
        return found

    @property
    def has_policy(self) -> bool:
        """Whether it does something with a checkpoint."""
        return False

    @property
    def has_environment(self) -> bool:
        """Whether it takes the environment that is chosen in the panel."""
        return True

    def preset_values(self) -> dict[str, Any]:
        """What `load` takes, without secrets."""
        chosen = {"env_id": self.state.env_id} if self.has_environment else {}
        return {**chosen, **self.form.changed_values(has_secrets=False)}

    def load(self, values: Mapping[str, Any]) -> list[str]:
        """Fills the form; returns the names of what did not fit."""
        rest = field_values(values)
        env_id = rest.pop("env_id", None)
        if isinstance(env_id, str) and env_id:
            self.state.choose_environment(env_id)
        return self.form.load(rest)

    # What all have in common

    @property
    def command(self) -> str:
        words = self.command_words()
        return shlex.join([PROGRAM, *words]) if words else ""

    @property
    def worker_info(self) -> WorkerInfo | None:
        return self.state.worker(self.worker)

    def problem(self) -> Problem | None:
        """None when it can be started."""
        if self.state.connection is not Connection.ONLINE:
            return Problem("The daemon is not connected")
        worker = self.worker_info
        if worker is None:
            return Problem("This worker is gone: choose another one")
        if not can_start(worker, self.state.bundles):
            return Problem(f"{worker.name} is not ready: {readiness_fix(worker)}")
        if self.has_policy and self.policy is None:
            return Problem("Choose a policy", "policy")
        if self.has_environment and (text := self.environment_problem()):
            return Problem(text, "env_id")
        for name, text in self.form.validate().items():
            title = self.form.field(name).title
            return Problem(text if title in text else f"{title}: {text}", name)
        return None

    def environment_problem(self) -> str:
        try:
            read_entry(_ENVIRONMENT, self.state.env_id)
        except EntryError as error:
            return str(error)
        worker = self.worker_info
        # The catalogue looked into our own environment; another one may well have the packages,
        # and of what bundles hold the daemon knows more.
        if worker is not None and worker.python == sys.executable and not has_bundles(worker):
            return missing_packages(self.state.environment(self.state.env_id))
        return ""


def readiness_fix(worker: WorkerInfo) -> str:
    missing = worker.missing
    return missing.fix if missing is not None else worker.error or "see `mosaic workers`"
