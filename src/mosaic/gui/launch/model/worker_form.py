"""WorkerForm: a worker without algorithms in the catalogue, by the schema of its own config."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.options import OptionSchemas, in_order
from mosaic.front.command_line import worker_words
from mosaic.front.training_config import WorkerRun, label, worker_document
from mosaic.gui.forms.model.fields import fields_of
from mosaic.gui.launch.model.launch_form import (
    Document,
    Footprint,
    LaunchForm,
)
from mosaic.gui.launch.model.shared_fields import (
    gpu_field,
    name_field,
    queue_fields,
    resource_fields,
)
from mosaic.gui.state.compatibility import settings_of
from mosaic.gui.state.targets import Operation
from mosaic.gui.state.workbench_state import WorkbenchState

# Filled in when the run starts.
_SET_AT_LAUNCH = ("run_id", "worker_id", "agent_id")
# In sight at once; the rest is below a heading.
_MOST_IN_SIGHT = 4
_REST = "Settings"


class WorkerForm(LaunchForm):
    operation = Operation.TRAIN
    button = "Run"

    def __init__(self, state: WorkbenchState, worker: str) -> None:
        super().__init__(state, worker)
        self.refresh()

    @property
    def has_environment(self) -> bool:
        return "env_id" in settings_of(self.worker_info)

    def refresh(self) -> None:
        health = self.state.health
        worker = self.worker_info
        schema = worker.capabilities.config_schema if worker and worker.capabilities else {}
        required = schema.get("required", ())
        options = {
            name: {"x-section": "" if place < _MOST_IN_SIGHT or name in required else _REST, **item}
            for place, (name, item) in enumerate(self._options().items())
        }
        self.form.set_fields(
            [
                *fields_of(options, required=required),
                name_field(),
                gpu_field(health),
                *resource_fields(health),
                *queue_fields(),
            ]
        )

    def footprint(self) -> Footprint:
        resources = self._document()["resources"]
        memory = resources.get("memory_mb", self._capabilities.estimated_memory_mb)
        return Footprint(1, resources["cpus"], memory, resources["gpus"]["requested"])

    def prepare(self) -> Callable[[], list[Document]]:
        document = self._document()
        return lambda: [document]

    def command_words(self) -> list[str]:
        changed = self.form.changed_values()
        return worker_words(
            self.worker,
            self._settings(),
            name=changed.get("run_name"),
            cpus=changed.get("cpus"),
            memory_mb=changed.get("memory_mb"),
            gpus=1 if changed.get("use_gpu") else None,
            priority=changed.get("priority"),
            retries=changed.get("retries"),
        )

    def _options(self) -> OptionSchemas:
        taken = {"env_id", *_SET_AT_LAUNCH}
        known = in_order(settings_of(self.worker_info))
        return {name: schema for name, schema in known.items() if name not in taken}

    def _settings(self) -> dict[str, Any]:
        changed = self.form.changed_values()
        chosen = {"env_id": self.state.env_id} if self.has_environment else {}
        return {**chosen, **{name: changed[name] for name in self._options() if name in changed}}

    @property
    def _capabilities(self) -> WorkerCapabilities:
        worker = self.worker_info
        known = worker.capabilities if worker is not None else None
        return known or WorkerCapabilities(worker_type=self.worker)

    def _document(self) -> Document:
        changed = self.form.changed_values()
        return worker_document(
            WorkerRun(
                self.worker,
                self._capabilities,
                self._settings(),
                name=label(changed.get("run_name") or ""),
                cpus=changed.get("cpus"),
                memory_mb=changed.get("memory_mb"),
                gpus=1 if changed.get("use_gpu") else None,
                priority=changed.get("priority"),
                retries=changed.get("retries"),
            )
        )
