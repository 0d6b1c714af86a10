"""SavedLaunch: who was chosen to do what, and what the forms held, for the next session."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mosaic.gui.launch.model.launch_form import LaunchForm
from mosaic.gui.launch.model.policy_forms import EvaluateForm, ResumeForm
from mosaic.gui.state.targets import Mode, Operation, PolicyTarget

FormKey = tuple[str, Operation]  # a worker and what it does


@dataclass(frozen=True)
class SavedForm:
    entries: Mapping[str, Any] = field(default_factory=dict)
    policy: Mapping[str, str] = field(default_factory=dict)

    def fill(self, form: LaunchForm) -> None:
        """What does not fit any more is left out."""
        if self.policy and isinstance(form, EvaluateForm | ResumeForm):
            form.use_policy(_policy(self.policy, form.worker))
        form.load(self.entries)

    def values(self) -> dict[str, Any]:
        return {"values": dict(self.entries), "policy": dict(self.policy)}

    @classmethod
    def read(cls, found: Any) -> SavedForm:
        entry = _mapping(found)
        policy = {name: str(text) for name, text in _mapping(entry.get("policy")).items()}
        return cls(_mapping(entry.get("values")), policy)


def saved_form(form: LaunchForm) -> SavedForm:
    """The environment is that of the window, not of each form."""
    values = {name: value for name, value in form.preset_values().items() if name != "env_id"}
    policy = form.policy
    if policy is None:
        return SavedForm(values)
    described = {
        "checkpoint": str(policy.checkpoint),
        "env_id": policy.env_id,
        "algo": policy.algo,
        "moment": policy.moment,
        "run_id": policy.run.run_id if policy.run else policy.run_id,
    }
    return SavedForm(values, described)


@dataclass(frozen=True)
class SavedLaunch:
    env_id: str = ""
    mode: Mode = Mode.AGENT
    worker: str = ""
    operations: Mapping[str, Operation] = field(default_factory=dict)
    forms: dict[FormKey, SavedForm] = field(default_factory=dict)

    def values(self) -> dict[str, Any]:
        return {
            "environment": self.env_id,
            "mode": self.mode.value,
            "worker": self.worker,
            "operations": {
                worker: operation.value for worker, operation in self.operations.items()
            },
            "forms": [
                {"worker": worker, "operation": operation.value, **form.values()}
                for (worker, operation), form in self.forms.items()
            ],
        }

    @classmethod
    def read(cls, found: Mapping[str, Any]) -> SavedLaunch:
        """Anything but what `values` wrote counts as missing."""
        operations, forms = _mapping(found.get("operations")), found.get("forms")
        read: dict[FormKey, SavedForm] = {}
        for item in forms if isinstance(forms, list) else ():
            entry = _mapping(item)
            worker, operation = entry.get("worker"), _operation(entry.get("operation"))
            if isinstance(worker, str) and operation is not None:
                read[worker, operation] = SavedForm.read(entry)
        return cls(
            _text(found.get("environment")),
            Mode(found["mode"]) if found.get("mode") in list(Mode) else Mode.AGENT,
            _text(found.get("worker")),
            {
                name: operation
                for name, value in operations.items()
                if (operation := _operation(value)) is not None
            },
            read,
        )


def _policy(found: Mapping[str, str], worker: str) -> PolicyTarget:
    return PolicyTarget(
        Path(found.get("checkpoint", "")),
        worker,
        found.get("env_id", ""),
        found.get("algo", ""),
        moment=found.get("moment", ""),
        run_id=found.get("run_id", ""),
    )


def _operation(value: Any) -> Operation | None:
    return Operation(value) if value in list(Operation) else None


def _mapping(value: Any) -> dict[str, Any]:
    return dict(value) if isinstance(value, Mapping) else {}


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""
