"""What a front end asks of a learner, and how the config of a run says it.

A learner's config has the fields `algo`, `env_id`, `total_timesteps`, `seed` and `extras`; mode,
checkpoint and the parameters of the algorithm are entries of `extras`. Only this module knows those
names: everybody else builds a request and takes its `settings()`, or reads one back with
`read_request`. Whatever a request has no field for passes through unchanged.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path, PurePath
from typing import Any, ClassVar

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.options import OptionSchemas
from mosaic.contracts.run_record import Lineage, LineageKind


class Mode(StrEnum):
    """The entry `mode` of `extras`; a training may leave it out."""

    TRAIN = "train"
    RESUME = "resume_training"
    EVALUATE = "policy_eval"
    PLAY = "interactive"


@dataclass(frozen=True, kw_only=True)
class _Request:
    """What all requests share. None stands for what the learner finds out by itself."""

    algo: str | None = None
    env_id: str | None = None
    total_timesteps: int | None = None
    seed: int | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)  # of the algorithm
    use_gpu: bool = False
    # Entries of `extras` that have no field here, such as how often to evaluate.
    extras: Mapping[str, Any] = field(default_factory=dict)
    # Fields of the config that are neither of these nor `extras`.
    others: Mapping[str, Any] = field(default_factory=dict)

    mode: ClassVar[Mode]
    # Fields of the class that are entries of `extras`, with the names they have there.
    entries: ClassVar[Mapping[str, str]] = {}

    @property
    def checkpoint_path(self) -> str:
        """The file of the policy this request starts from; empty where it starts from none."""
        return ""

    @property
    def env_kwargs(self) -> Mapping[str, Any]:
        """Arguments of the environment, wherever they were given."""
        found = self.parameters.get("env_kwargs") or self.extras.get("env_kwargs")
        return found if isinstance(found, dict) else {}

    def settings(self) -> dict[str, Any]:
        """The learner's config."""
        extras = dict(self.extras)
        if self.mode is not Mode.TRAIN:
            extras["mode"] = self.mode.value
        for attribute, name in self.entries.items():
            value = getattr(self, attribute)
            if value is not None:
                extras[name] = value
        if self.parameters:
            extras["algo_params"] = dict(self.parameters)
        if self.use_gpu:
            extras["cuda"] = True
        named = {name: getattr(self, name) for name in _NAMED}
        given = {name: value for name, value in named.items() if value is not None}
        return {**self.others, **given, "extras": extras}


@dataclass(frozen=True, kw_only=True)
class TrainRequest(_Request):
    warm_start: str | None = None  # the checkpoint with whose networks it begins

    mode: ClassVar[Mode] = Mode.TRAIN
    entries: ClassVar[Mapping[str, str]] = {"warm_start": "warm_start_path"}

    @property
    def checkpoint_path(self) -> str:
        return self.warm_start or ""


@dataclass(frozen=True, kw_only=True)
class ResumeRequest(_Request):
    checkpoint: str | None  # a request that was read may lack what the learner will ask for

    mode: ClassVar[Mode] = Mode.RESUME
    entries: ClassVar[Mapping[str, str]] = {"checkpoint": "checkpoint_path"}

    @property
    def checkpoint_path(self) -> str:
        return self.checkpoint or ""


@dataclass(frozen=True, kw_only=True)
class EvaluateRequest(_Request):
    policy: str | None

    mode: ClassVar[Mode] = Mode.EVALUATE
    entries: ClassVar[Mapping[str, str]] = {"policy": "policy_path"}

    @property
    def checkpoint_path(self) -> str:
        return self.policy or ""


@dataclass(frozen=True, kw_only=True)
class PlayRequest(_Request):
    policy: str | None = None  # None: only a person plays
    play: Mapping[str, Any] | None = None  # how it begins

    mode: ClassVar[Mode] = Mode.PLAY
    entries: ClassVar[Mapping[str, str]] = {"policy": "policy_path", "play": "play"}

    @property
    def checkpoint_path(self) -> str:
        return self.policy or ""


LearnerRequest = TrainRequest | ResumeRequest | EvaluateRequest | PlayRequest
_REQUESTS: dict[str, type[LearnerRequest]] = {
    request.mode.value: request
    for request in (TrainRequest, ResumeRequest, EvaluateRequest, PlayRequest)
}
_NAMED = {"algo": str, "env_id": str, "total_timesteps": int, "seed": int}


def worker_settings(config: Any) -> dict[str, Any]:
    """The worker's own config within a TrainRunConfig; empty where there is none.

    `config` may come from anywhere: whatever is not an object on the way counts as missing.
    """
    for name in ("metadata", "worker", "config"):
        config = config.get(name) if isinstance(config, Mapping) else None
    return dict(config) if isinstance(config, Mapping) else {}


def read_request(settings: Mapping[str, Any]) -> LearnerRequest | None:
    """What a worker's config asks for, so that `settings()` gives the same config again.

    None where it asks for nothing this contract knows: a mode of a later version, or a value of
    another type than its field, which only the worker can judge.
    """
    rest = dict(settings)
    extras = rest.pop("extras", {})
    if not isinstance(extras, Mapping):
        return None
    extras = dict(extras)
    request = _REQUESTS.get(_mode_name(extras))
    if request is None:
        return None
    if request is not TrainRequest:
        del extras["mode"]
    values: dict[str, Any] = {}
    for name, kind in _NAMED.items():
        if rest.get(name) is None:
            continue
        if not isinstance(rest[name], kind) or isinstance(rest[name], bool):
            return None
        values[name] = rest.pop(name)
    for attribute, name in request.entries.items():
        if extras.get(name) is None:
            continue
        if not isinstance(extras[name], Mapping if attribute == "play" else str):
            return None
        values[attribute] = extras.pop(name)
    if isinstance(extras.get("algo_params"), Mapping) and extras["algo_params"]:
        values["parameters"] = extras.pop("algo_params")
    if extras.get("cuda") is True:
        values["use_gpu"] = extras.pop("cuda")
    if request is ResumeRequest:
        values.setdefault("checkpoint", None)
    elif request is EvaluateRequest:
        values.setdefault("policy", None)
    return request(**values, extras=extras, others=rest)


def mode_of(settings: Mapping[str, Any]) -> str:
    """The mode a config asks for; one of a later version is returned as it is."""
    extras = settings.get("extras")
    return _mode_name(extras if isinstance(extras, Mapping) else {})


def _mode_name(extras: Mapping[str, Any]) -> str:
    return str(extras.get("mode") or Mode.TRAIN.value)


def extras_schemas(config_schema: Mapping[str, Any]) -> OptionSchemas:
    """The options among the `extras`, as far as the schema of a worker's config spells them out."""
    found: Any = config_schema
    for name in ("properties", "extras", "properties"):
        found = found.get(name) if isinstance(found, Mapping) else None
    options = found.items() if isinstance(found, Mapping) else ()
    return {name: schema for name, schema in options if isinstance(schema, Mapping)}


def takes_warm_start(config_schema: Mapping[str, Any]) -> bool:
    """Whether trainings can begin with what another one has learned."""
    return TrainRequest.entries["warm_start"] in extras_schemas(config_schema)


_KINDS = {
    Mode.TRAIN: LineageKind.WARM_STARTED,
    Mode.RESUME: LineageKind.RESUMED,
    Mode.EVALUATE: LineageKind.EVALUATED,
    Mode.PLAY: LineageKind.PLAYED,
}


# Checkpoints that are kept beside the newest have their step in the name.
_STEP = re.compile(r"(?:step|global_step|ckpt)[-_=]?(\d{1,18})(?!\d)")


def lineage_of(config: Mapping[str, Any], runs_folder: Path) -> Lineage | None:
    """Of a submitted TrainRunConfig: the parent it names, else the run its checkpoint lies in."""
    request = read_request(worker_settings(config))
    if request is None:
        return None
    parent = _named_parent(config) or _run_holding(request.checkpoint_path, runs_folder)
    if not parent:
        return None
    step = _STEP.search(PurePath(request.checkpoint_path).name)
    return Lineage(parent, _KINDS[request.mode], int(step[1]) if step else None)


def _named_parent(config: Mapping[str, Any]) -> str:
    metadata = config.get("metadata")
    lineage = metadata.get("lineage") if isinstance(metadata, Mapping) else None
    parent = lineage.get("parent_run") if isinstance(lineage, Mapping) else None
    return parent if isinstance(parent, str) and is_run_id(parent) else ""


def _run_holding(path: str, runs_folder: Path) -> str:
    if not path or "\0" in path:
        return ""
    try:
        relative = PurePath(path).relative_to(runs_folder)
    except ValueError:
        return ""
    first = relative.parts[0] if relative.parts else ""
    return first if is_run_id(first) and ".." not in relative.parts else ""
