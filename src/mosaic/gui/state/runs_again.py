"""Starting a run once more: as it was, changed in the form, or going on from its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mosaic.contracts.algorithm_info import AlgorithmInfo
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.run_state import Outcome
from mosaic.contracts.variable_secrecy import referenced_names
from mosaic.errors import ConfigError, RequestError
from mosaic.front.catalogue import find_algorithm
from mosaic.front.local_run import named_by
from mosaic.front.policy_config import resuming_document
from mosaic.front.policy_reference import PolicyReference, why_no_checkpoint
from mosaic.front.script_config import WORKER as SCRIPT
from mosaic.front.training_config import Training, train_document
from mosaic.gui.state.examples import EXAMPLES, Start
from mosaic.gui.state.run_command import worker_settings
from mosaic.gui.state.targets import FormTarget, Operation, PolicyTarget

_FIRST = next(example for example in EXAMPLES if example.start is Start.TRAIN)
_POLICY_MODES = {"policy_eval": Operation.EVALUATE, "resume_training": Operation.RESUME}
FIRST_TITLE = f"{_FIRST.title} (30 s)"


def first_training(algorithms: Sequence[AlgorithmInfo]) -> dict[str, Any]:
    """What somebody without any run is offered; raises where nothing can train it."""
    algorithm = find_algorithm(_FIRST.algo, list(algorithms))
    return train_document(
        Training(algorithm, _FIRST.env_id, total_timesteps=_FIRST.total_timesteps, seed=_FIRST.seed)
    )


def same_again(record: RunRecord) -> dict[str, Any]:
    """The config as it was submitted, of a whole record; raises where values are missing."""
    if not record.config:
        raise RequestError(
            f"The config of {record.run_name} cannot be read any more",
            hint="start it from the form",
        )
    environment = record.config.get("environment")
    if missing := referenced_names(environment if isinstance(environment, dict) else {}):
        names = ", ".join(missing)
        config = record.paths.get("config", "CONFIG.json")
        options = " ".join(f"--env {name}" for name in missing)
        raise ConfigError(
            f"{record.run_name} needs the values of {names}, which are not stored with a run",
            hint="choose “Edit and resubmit” and give them again, or set them in a terminal and "
            f"run `mosaic submit {config} {options}`",
        )
    return dict(record.config)


def policy_of(record: RunRecord) -> PolicyTarget:
    """Its latest checkpoint; raises where there is none."""
    if not record.checkpoint_uri or not record.paths:
        raise ConfigError(
            f"{record.run_name} has no checkpoint",
            hint=why_no_checkpoint(record),
        )
    return PolicyTarget(
        checkpoint=named_by(record, record.checkpoint_uri, "checkpoint_uri"),
        worker=record.worker,
        env_id=record.env_id,
        algo=str(worker_settings(record.config).get("algo", "")),
        run=record,
    )


def goes_on_by_itself(record: RunRecord) -> bool:
    """One that was stopped knows how much is left; a finished one must be told how much more."""
    fraction = record.progress.fraction
    is_cut = record.outcome is not Outcome.SUCCEEDED or bool(record.stop_reason)
    return is_cut and fraction is not None and fraction < 1


def going_on(record: RunRecord) -> dict[str, Any]:
    """The TrainRunConfig that trains the rest of a run that was stopped."""
    policy = policy_of(record)
    return resuming_document(PolicyReference(policy.worker, policy.checkpoint, record))


def edited_again(record: RunRecord) -> FormTarget:
    """The form with everything this run was started with."""
    values = form_values(record.config)
    operation = _POLICY_MODES.get(str(values.get("mode", "")))
    if operation is None:
        is_script = record.worker == SCRIPT
        return FormTarget(Operation.SCRIPT if is_script else Operation.TRAIN, values=values)
    path = Path(str(values.get("policy_path") or values.get("checkpoint_path") or ""))
    policy = PolicyTarget(path, record.worker, record.env_id, str(values.get("algo", "")))
    return FormTarget(operation, policy, values)


def form_values(config: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting by its own name, with those of the algorithm among them."""
    settings = worker_settings(config)
    extras = dict(settings.pop("extras", None) or {})
    parameters = dict(extras.pop("algo_params", None) or {})
    values = {**settings, **extras, **parameters}
    values["worker"] = config.get("entry_point")
    values["name"] = config.get("run_name")
    resources = config.get("resources", {})
    values["cpus"], values["memory_mb"] = resources.get("cpus"), resources.get("memory_mb")
    values["priority"] = config.get("priority")
    if attempts := config.get("retry", {}).get("max_attempts"):
        values["retries"] = attempts - 1
    return {key: value for key, value in values.items() if value is not None}
