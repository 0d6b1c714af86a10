"""ScriptForm: any command, watched."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from typing import Any

from mosaic.contracts.secrets import SecrecyRules
from mosaic.errors import MosaicError
from mosaic.front.command_line import watch_words
from mosaic.front.script_config import (
    WatchedScript,
    preview,
    refuse_secrets,
    script_document,
)
from mosaic.gui.forms.model.fields import Field, FieldKind, field_of
from mosaic.gui.launch.model.launch_form import (
    Document,
    Footprint,
    LaunchForm,
)
from mosaic.gui.launch.model.saved_values import VARIABLES, storable_lines
from mosaic.gui.launch.model.shared_fields import (
    RECORDING,
    frame_fields,
    gpu_field,
    name_field,
    resource_fields,
)
from mosaic.gui.state.compatibility import settings_of
from mosaic.gui.state.targets import Operation
from mosaic.gui.state.workbench_state import WorkbenchState

MODE, LIMIT = "video_mode", "fastlane_grid_limit"
_PLACE = "Where it runs"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*=.*", re.DOTALL)


class ScriptForm(LaunchForm):
    operation = Operation.SCRIPT
    button = "Run script"

    def __init__(self, state: WorkbenchState, worker: str) -> None:
        super().__init__(state, worker)
        self.refresh()

    @property
    def has_environment(self) -> bool:
        return False  # scripts choose it themselves

    def refresh(self) -> None:
        known, health = settings_of(self.worker_info), self.state.health
        record = known.get("record_episodes", {"type": "boolean", "default": True})
        duration = {"type": "integer", "minimum": 1, "maximum": 31_536_000}
        self.form.set_fields(
            [
                Field(
                    "command",
                    "Command",
                    FieldKind.LONG_TEXT,
                    help="As you would type it in a terminal",
                    is_required=True,
                    placeholder="python train.py --seed 1",
                ),
                Field(
                    "cwd", "Folder", FieldKind.PATH, help="Where it runs", placeholder="your home"
                ),
                Field(
                    "env_python",
                    "Interpreter",
                    FieldKind.PATH,
                    help="What `python` means",
                    section=_PLACE,
                    placeholder="the one on the PATH",
                ),
                Field(
                    "compatibility",
                    "Old Gymnasium",
                    FieldKind.BOOLEAN,
                    default=False,
                    help="For scripts written before Gymnasium 1.0",
                    section=_PLACE,
                ),
                Field(
                    VARIABLES,
                    "Environment variables",
                    FieldKind.TEXT_LIST,
                    help="NAME=value, one in each line",
                    section=_PLACE,
                    placeholder="NAME=value",
                ),
                field_of("record_episodes", record, section=RECORDING),
                *frame_fields(known, MODE, LIMIT),
                name_field(),
                gpu_field(health),
                *resource_fields(health),
                Field(
                    "max_duration_s",
                    "Stop after",
                    FieldKind.INTEGER,
                    schema=duration,
                    section="Run",
                    unit="s",
                    placeholder="never",
                ),
            ]
        )

    def rules(self, values: Mapping[str, Any]) -> Mapping[str, str]:
        found = dict(super().rules(values))
        if values.get("command"):
            try:
                refuse_secrets(self.words(values["command"]))
            except ValueError:
                found["command"] = "A quotation mark has no partner"
            except MosaicError as error:
                found["command"] = f"{error.message}: give it as a variable"
        wrong = [line for line in values.get(VARIABLES) or () if _VARIABLE.fullmatch(line) is None]
        if wrong:
            found[VARIABLES] = f"{wrong[0][:40]} is not of the form NAME=value"
        return found

    @staticmethod
    def words(command: str) -> list[str]:
        return shlex.split(command)

    def footprint(self) -> Footprint:
        worker, value = self.worker_info, self.form.value
        needs = worker.capabilities if worker else None
        memory = value("memory_mb") or (needs.estimated_memory_mb if needs else 0)
        cpus = value("cpus") or (needs.cpu_cores if needs else 1)
        return Footprint(1, cpus, memory, int(bool(value("use_gpu"))))

    def prepare(self) -> Callable[[], list[Document]]:
        script, environ = self._script(), dict(os.environ)
        return lambda: [script_document(script, environ)]

    def preview(self) -> Callable[[], list[str]]:
        """What would run, where, and with which variables; called in a thread as well."""
        prepared = self.prepare()
        return lambda: preview(prepared()[0])

    def _script(self) -> WatchedScript:
        values = self.form.values()
        variables = dict(line.split("=", 1) for line in values[VARIABLES] or ())
        folder = values["cwd"] or "~"
        return WatchedScript(
            tuple(self.words(values["command"] or "")),
            name=values["run_name"] or "",
            folder=os.path.expanduser(folder),  # noqa: PTH111 (a text that may be no path at all)
            env_python=values["env_python"],
            cpus=values["cpus"],
            memory_mb=values["memory_mb"],
            use_gpu=values["use_gpu"],
            is_compatible=values["compatibility"],
            video_mode=values.get(MODE, "grid"),
            slot=values.get("fastlane_slot") or 0,
            grid_limit=self.form.changed_values().get(LIMIT),
            is_recorded=values["record_episodes"],
            max_duration_s=values["max_duration_s"],
            environment=variables,
        )

    def command_words(self) -> list[str]:
        script = self._script()
        changed = self.form.changed_values()
        rules = SecrecyRules.here()
        return watch_words(
            script,
            video_mode=changed.get(MODE),
            slot=changed.get("fastlane_slot"),
            variables=[
                name if rules.is_masked(name, value) else f"{name}={value}"
                for name, value in script.environment.items()
            ],
        )

    def preset_values(self) -> dict[str, Any]:
        values = super().preset_values()
        lines = values.pop(VARIABLES, None) or []
        return {**values, VARIABLES: storable_lines(lines)} if lines else values
