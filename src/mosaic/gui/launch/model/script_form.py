"""ScriptForm: any command, watched."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mosaic.contracts.options import OptionSchemas, option_text
from mosaic.contracts.secrets import SecrecyRules
from mosaic.errors import MosaicError
from mosaic.front.command_line import watch_words
from mosaic.front.script_config import (
    WatchedScript,
    preview,
    refuse_secrets,
    script_document,
    script_options,
)
from mosaic.gui.forms.model.fields import Field, FieldKind, fields_of
from mosaic.gui.launch.model.launch_form import (
    Document,
    Footprint,
    LaunchForm,
)
from mosaic.gui.launch.model.saved_values import VARIABLES, storable_lines
from mosaic.gui.launch.model.shared_fields import (
    gpu_field,
    name_field,
    resource_fields,
)
from mosaic.gui.state.targets import Operation
from mosaic.gui.state.workbench_state import WorkbenchState

_VARIABLES_SECTION = "Interpreter and variables"  # as the worker calls it
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
        health = self.state.health
        duration = {"type": "integer", "minimum": 1, "maximum": 31_536_000}
        variables = Field(
            VARIABLES,
            "Environment variables",
            FieldKind.TEXT_LIST,
            help="NAME=value, one in each line",
            section=_VARIABLES_SECTION,
            placeholder="NAME=value",
        )
        self.form.set_fields(
            [
                *self._option_fields(),
                variables,
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

    def _option_fields(self) -> list[Field]:
        """Those that the worker has a place for; the others are decided when the run starts."""
        here: dict[str, dict[str, Any]] = {
            "command": {"schema": {}},  # typed as a line, which `words` cuts
            "cwd": {"placeholder": "your home"},
        }
        fields = fields_of(self._options, required=("command",))
        return [replace(item, **here.get(item.name, {})) for item in fields]

    @property
    def _options(self) -> OptionSchemas:
        known = script_options()
        return {name: item for name, item in known.items() if option_text(item).section is not None}

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
        values, changed = self.form.values(), self.form.changed_values()
        settings = {name: changed[name] for name in self._options if name in changed}
        folder = settings.get("cwd") or "~"
        settings["cwd"] = os.path.expanduser(folder)  # noqa: PTH111 (a text, maybe no path at all)
        return WatchedScript(
            tuple(self.words(settings.pop("command", ""))),
            settings,
            name=values["run_name"] or "",
            cpus=values["cpus"],
            memory_mb=values["memory_mb"],
            use_gpu=values["use_gpu"],
            max_duration_s=values["max_duration_s"],
            environment=dict(line.split("=", 1) for line in values[VARIABLES] or ()),
        )

    def command_words(self) -> list[str]:
        script, rules = self._script(), SecrecyRules.here()
        return watch_words(
            script,
            [
                name if rules.is_masked(name, value) else f"{name}={value}"
                for name, value in script.environment.items()
            ],
        )

    def preset_values(self) -> dict[str, Any]:
        values = super().preset_values()
        lines = values.pop(VARIABLES, None) or []
        return {**values, VARIABLES: storable_lines(lines)} if lines else values
