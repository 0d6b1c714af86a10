"""EvaluateForm and ResumeForm: what becomes of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.contracts.learner import EvaluateRequest, ResumeRequest
from mosaic.front.command_line import evaluation_words, resuming_words
from mosaic.front.policy_config import POLICY_MEMORY_MB, evaluation_document, resuming_document
from mosaic.front.references import PolicyReference
from mosaic.gui.forms.model.fields import Field, FieldKind, field_of, fields_of
from mosaic.gui.launch.model.launch_form import (
    Document,
    Footprint,
    LaunchForm,
    Problem,
)
from mosaic.gui.launch.model.shared_fields import (
    RUN,
    TENSORBOARD_FOLDER,
    gpu_field,
    name_field,
    request_options,
)
from mosaic.gui.state.compatibility import extras_of, flagged_extras_of
from mosaic.gui.state.targets import Operation, PolicyTarget
from mosaic.gui.state.workbench_state import WorkbenchState

# Parameters that cannot change any more, or have a control of their own.
_TAKEN = ("env_id", "total_timesteps", "seed", "cuda", "track", TENSORBOARD_FOLDER, "exp_name")


class _PolicyForm(LaunchForm):
    def __init__(self, state: WorkbenchState, worker: str) -> None:
        super().__init__(state, worker)
        self.refresh()

    @property
    def has_policy(self) -> bool:
        return True

    def use_policy(self, policy: PolicyTarget | None) -> None:
        self.policy = policy
        self.refresh()

    def footprint(self) -> Footprint:
        run = self.policy.run if self.policy else None
        memory = max(run.memory_mb if run else 0, POLICY_MEMORY_MB)
        gpus = int(bool(self.form.value("use_gpu")))
        return Footprint(1, run.cpus if run else 1, memory, gpus)

    def reference(self) -> PolicyReference:
        assert self.policy is not None  # `problem` said so before
        return PolicyReference(self.policy.worker, self.policy.checkpoint, self.policy.run)

    def _extras(self) -> dict[str, Any]:
        known = extras_of(self.worker_info)
        changed = self.form.changed_values()
        return {name: value for name, value in changed.items() if name in known}

    def subject(self) -> str:
        """What the command line is given as the policy."""
        if self.policy is None:
            return "RUN"
        return self.policy.run.run_id if self.policy.run else str(self.policy.checkpoint)


class EvaluateForm(_PolicyForm):
    operation = Operation.EVALUATE
    button = "Evaluate"

    @property
    def has_environment(self) -> bool:
        return "override_environment" in self.form and bool(self.form.value("override_environment"))

    def refresh(self) -> None:
        known = extras_of(self.worker_info)
        trained = self.policy.env_id if self.policy else ""
        override = Field(
            "override_environment",
            "Override environment",
            FieldKind.BOOLEAN,
            default=False,
            help=f"Off: {trained}, as trained" if trained else "Off: the one it was trained in",
        )
        algo = Field(
            "algo",
            "Algorithm",
            FieldKind.TEXT,
            help="Only when the files do not tell it",
            section="Details",
            placeholder="as in the files",
        )
        self.form.set_fields(
            [
                *fields_of(request_options(known, EvaluateRequest)),
                override,
                algo,
                name_field(),
                gpu_field(self.state.health),
            ]
        )

    def prepare(self) -> Callable[[], list[Document]]:
        value = self.form.value
        document = evaluation_document(
            self.reference(),
            self._extras(),
            env_id=self.state.env_id if self.has_environment else None,
            algo=value("algo"),
            name=value("run_name"),
            use_gpu=value("use_gpu"),
        )
        return lambda: [document]

    def command_words(self) -> list[str]:
        return evaluation_words(
            self.subject(),
            extras=self._extras(),
            schemas=flagged_extras_of(self.worker_info),
            env_id=self.state.env_id if self.has_environment else None,
            algo=self.form.value("algo"),
            use_gpu=self.form.value("use_gpu"),
            name=self.form.value("run_name"),
        )


class ResumeForm(_PolicyForm):
    operation = Operation.RESUME
    button = "Resume"

    @property
    def has_environment(self) -> bool:
        return False

    @property
    def algorithm(self) -> AlgorithmInfo | None:
        name = self.policy.algo if self.policy else ""
        of_worker = (item for item in self.state.algorithms if item.worker == self.worker)
        return next((item for item in of_worker if item.name == name), None)

    @property
    def steps_done(self) -> int:
        run = self.policy.run if self.policy else None
        return run.progress.steps if run else 0

    def refresh(self) -> None:
        algorithm = self.algorithm
        parameters = algorithm.parameters if algorithm else {}
        done = self.steps_done
        total = {
            **parameters.get("total_timesteps", {"type": "integer", "minimum": 1}),
            "default": self._planned(),
            "description": f"{done:,} steps are done; the new total"
            if done
            else "the new total, with the steps already done",
        }
        options = {
            name: self._as_trained(name, schema)
            for name, schema in (algorithm.options if algorithm else {}).items()
            if name not in _TAKEN
        }
        extras = request_options(extras_of(self.worker_info), ResumeRequest)
        fields = fields_of({**options, **extras}, RUN)
        self.form.set_fields(
            [
                replace(field_of("total_timesteps", total), title="Total timesteps", section=""),
                *(item for item in fields if item.section != RUN),
                name_field(),
                *(item for item in fields if item.section == RUN),
                gpu_field(self.state.health),
            ]
        )

    def problem(self) -> Problem | None:
        run = self.policy.run if self.policy else None
        if run is not None and not run.is_over:
            return Problem(f"{run.run_name} is still running: stop it first", "policy")
        return super().problem()

    def rules(self, values: Mapping[str, Any]) -> Mapping[str, str]:
        found = dict(super().rules(values))
        total = values.get("total_timesteps")
        if total is not None and self.steps_done and total <= self.steps_done:
            found["total_timesteps"] = f"Give more than the {self.steps_done:,} steps done"
        return found

    def prepare(self) -> Callable[[], list[Document]]:
        document = resuming_document(
            self.reference(),
            total_timesteps=self.form.value("total_timesteps"),
            parameters=self._parameters(),
            extras=self._extras(),
            name=self.form.value("run_name"),
            use_gpu=self.form.value("use_gpu"),
        )
        return lambda: [document]

    def command_words(self) -> list[str]:
        value = self.form.value
        return resuming_words(
            self.subject(),
            total_timesteps=value("total_timesteps"),
            parameters=self._parameters(),
            extras=self._extras(),
            schemas=flagged_extras_of(self.worker_info),
            use_gpu=value("use_gpu"),
            name=value("run_name"),
        )

    def _parameters(self) -> dict[str, Any]:
        algorithm = self.algorithm
        known = algorithm.parameters if algorithm else {}
        changed = self.form.changed_values()
        return {
            name: value
            for name, value in changed.items()
            if name in known and name != "total_timesteps"
        }

    def _planned(self) -> int | None:
        """A run that reached its end goes on for as long again; one that did not, to its end."""
        run = self.policy.run if self.policy else None
        if run is None:
            return None
        planned = run.progress.total_steps or 0
        done = run.progress.steps
        return planned if planned > done else 2 * done or None

    def _as_trained(self, name: str, schema: Mapping[str, Any]) -> Mapping[str, Any]:
        config = self.policy.run.config if self.policy and self.policy.run else {}
        settings = config.get("metadata", {}).get("worker", {}).get("config", {})
        given = settings.get("extras", {}).get("algo_params") or {}
        return {**schema, "default": given[name]} if name in given else schema
