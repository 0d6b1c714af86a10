"""EvaluateForm and ResumeForm: what becomes of a checkpoint."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from mosaic.contracts.algorithm_info import AlgorithmInfo
from mosaic.front.policy_config import MEMORY_MB, evaluation_document, resuming_document
from mosaic.front.policy_reference import PolicyReference
from mosaic.gui.state.form_fields import Field, Kind, field_of
from mosaic.gui.state.launch_fields import (
    HYPERPARAMETERS,
    RECORDING,
    extras_of,
    frame_fields,
    gpu_field,
    name_field,
    recording_fields,
)
from mosaic.gui.state.launch_form import (
    Document,
    Footprint,
    LaunchForm,
    Problem,
    option_words,
    setting_words,
)
from mosaic.gui.state.targets import Operation, PolicyTarget
from mosaic.gui.state.workbench_state import WorkbenchState

MODE, LIMIT = "video_mode", "grid_limit"
# Of the worker's extras: what the form calls it, and where it stands.
_EVALUATION = (
    ("eval_episodes", "Episodes", ""),
    ("eval_batch_size", "Episodes per batch", ""),
    ("eval_repeat", "Repeat until stopped", ""),
    ("eval_deterministic", "Deterministic actions", ""),
    ("seed_override", "Seed", ""),
    ("eval_capture_video", "Capture video", RECORDING),
    ("eval_gamma", "Discount", "Details"),
    ("eval_max_episode_steps", "Most steps per episode", "Details"),
)
_HELP = {
    "eval_episodes": "Of all batches; empty: one batch",
    "eval_batch_size": "Each batch has its own summary",
    "eval_gamma": "Of the discounted return",
    "eval_max_episode_steps": "Longer episodes are cut off",
    "eval_repeat": "Batch after batch, with live frames",
    "eval_deterministic": "The best action; off: a sampled one",
    "seed_override": "Of the first episode",
    "eval_capture_video": "A video of each batch",
}
# What the command line has an option for.
_OPTIONS = {
    "eval_episodes": "--episodes",
    "eval_batch_size": "--batch-size",
    "eval_gamma": "--gamma",
    "eval_repeat": "--repeat",
    "seed_override": "--seed",
    "eval_capture_video": "--video",
}


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
        memory = max(run.memory_mb if run else 0, MEMORY_MB)
        gpus = int(bool(self.form.value("use_gpu")))
        return Footprint(1, run.cpus if run else 1, memory, gpus)

    def reference(self) -> PolicyReference:
        assert self.policy is not None  # `problem` said so before
        return PolicyReference(self.policy.worker, self.policy.checkpoint, self.policy.run)

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
        fields = []
        for name, title, section in _EVALUATION:
            if name in known:
                found = field_of(name, known[name], section=section)
                fields.append(replace(found, title=title, help=_HELP.get(name, found.help)))
        trained = self.policy.env_id if self.policy else ""
        override = Field(
            "override_environment",
            "Override environment",
            Kind.BOOLEAN,
            default=False,
            help=f"Off: {trained}, as trained" if trained else "Off: the one it was trained in",
        )
        algo = Field(
            "algo",
            "Algorithm",
            Kind.TEXT,
            help="Only when the files do not tell it",
            section="Details",
            placeholder="as in the files",
        )
        self.form.set_fields(
            [
                *fields,
                override,
                *frame_fields(known, MODE, LIMIT),
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

    def _extras(self) -> dict[str, Any]:
        known = extras_of(self.worker_info)
        changed = self.form.changed_values()
        return {name: value for name, value in changed.items() if name in known}

    def command_words(self) -> list[str]:
        extras = self._extras()
        is_stochastic = extras.pop("eval_deterministic", True) is False
        options = {option: extras.pop(name) for name, option in _OPTIONS.items() if name in extras}
        return [
            *("mosaic", "eval", self.subject()),
            *option_words(
                {
                    **options,
                    "--stochastic": is_stochastic,
                    "--env-id": self.state.env_id if self.has_environment else None,
                    "--algo": self.form.value("algo"),
                    "--cuda": self.form.value("use_gpu"),
                    "--name": self.form.value("run_name"),
                }
            ),
            *setting_words("--extra", extras, is_typed=False),
        ]


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
        recording = recording_fields(parameters)
        taken = {"env_id", "total_timesteps", "seed", "cuda", "track", "exp_name"}
        taken |= {item.name for item in recording} | {"tensorboard_dir"}
        hyper = [
            field_of(name, self._as_trained(name, schema), section=HYPERPARAMETERS)
            for name, schema in parameters.items()
            if name not in taken and not name.startswith("wandb_")
        ]
        self.form.set_fields(
            [
                replace(field_of("total_timesteps", total), title="Total timesteps"),
                *sorted(hyper, key=lambda item: item.kind is Kind.JSON),
                *recording,
                name_field(),
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
            name=self.form.value("run_name"),
            use_gpu=self.form.value("use_gpu"),
        )
        return lambda: [document]

    def command_words(self) -> list[str]:
        value = self.form.value
        return [
            *("mosaic", "resume", self.subject()),
            *option_words({"--total-timesteps": value("total_timesteps")}),
            *setting_words("--set", self._parameters(), is_typed=False),
            *option_words({"--cuda": value("use_gpu"), "--name": value("run_name")}),
        ]

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
