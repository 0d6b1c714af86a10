"""CleanRLWorkerConfig: what a run of this worker can be told. Imports nothing heavy."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from cleanrl_worker.arguments import MAX_TIMESTEPS
from cleanrl_worker.catalogue import parameters_of
from cleanrl_worker.registry import find_algorithm
from mosaic.contracts.schema_check import violations
from mosaic.fastlane.layout import DEFAULT_SLOTS
from mosaic.fastlane.settings import DEFAULT_BUDGET, MODE_HELP
from mosaic.worker import ConfigError, EvaluationOptions, Shortcut, config_schema, option
from mosaic.worker.config import config_fields

TRAIN, RESUME, EVALUATE, INTERACTIVE = "train", "resume_training", "policy_eval", "interactive"
NATIVE, UPSTREAM = "native", "upstream"
CUDA_NAMES = ("cuda", "use_cuda", "gpu")


@dataclass(frozen=True)
class WorkerExtras(EvaluationOptions):
    """The `extras` that are no parameters of an algorithm; None is as if it were not given."""

    mode: Literal["train", "resume_training", "policy_eval", "interactive"] = option(
        "train", help="what to do with the algorithm"
    )
    source: Literal["native", "upstream"] = option(
        "native",
        help="whose algorithm: ours, or the script of that name from CleanRL itself",
        title="Implementation",
        section="Source",
        order=1,
        modes=(TRAIN,),
        choice_help={
            "native": "MOSAIC's own implementation",
            "upstream": "The unmodified script of that name from CleanRL itself",
        },
    )
    upstream_path: str | None = option(
        None,
        help="upstream: a checkout of CleanRL, its folder of scripts, or one of them; default: the "
        "package cleanrl of env_python",
        editor="folder",
        title="CleanRL's checkout",
        section="Source",
        order=2,
        placeholder="folder with its scripts",
        modes=(TRAIN,),
        shown_when={"source": "upstream"},
    )
    env_python: str | None = option(
        None,
        help="upstream: the interpreter that runs the script; default: that of the bundle "
        "upstream_cleanrl, or the worker's own",
        editor="path",
        title="Its Python",
        section="Source",
        order=3,
        placeholder="the one of its bundle",
        modes=(TRAIN,),
        shown_when={"source": "upstream"},
    )
    compatibility: bool = option(
        True,
        help="upstream: let scripts written for Gymnasium before 1.0 see the old behaviour",
        section="Source",
        order=4,
        modes=(TRAIN,),
        shown_when={"source": "upstream"},
    )
    algo_params: Mapping[str, Any] = option(dict, help="parameters of the algorithm")
    checkpoint_path: str | None = option(
        None, help="resume_training: the checkpoint to go on from", editor="checkpoint"
    )
    warm_start_path: str | None = option(
        None,
        help="the networks of a checkpoint of the same algorithm",
        editor="checkpoint",
        title="Begin with",
        section="Run",
        placeholder="random networks",
        flag="--warm-start",
        modes=(TRAIN,),
    )
    policy_path: str | None = option(
        None, help="policy_eval, interactive: the checkpoint that acts", editor="checkpoint"
    )
    use_cuda: bool | None = option(None, help="the same as cuda")
    gpu: bool | None = option(None, help="the same as cuda")
    track_wandb: bool | None = option(
        None,
        help="log to Weights & Biases too",
        title="Track with W&B",
        section="Tracking",
        order=1,
        placeholder="no",
        flag="--track",
        modes=(TRAIN, RESUME),
    )
    wandb_email: str | None = option(
        None,
        help="whose account on W&B; sets WANDB_EMAIL",
        title="W&B email",
        section="Tracking",
        order=5,
        modes=(TRAIN, RESUME),
        shown_when={"track_wandb": True},
    )
    notes: str | None = option(
        None,
        help="your own words, kept with the run",
        editor="long_text",
        section="Tracking",
        order=7,
        placeholder="",
        flag="--notes",
        modes=(TRAIN, RESUME),
    )
    agent_id: str | None = option(None, help="name of the agent")
    curriculum_schedule: Sequence[Mapping[str, Any]] | None = option(
        None, help="stages of a curriculum; not available yet", editor="curriculum"
    )
    eval_capture_video: bool = option(
        False,
        help="a video of each batch",
        title="Capture video",
        section="Recording",
        order=6,
        flag="--video",
        modes=(EVALUATE,),
    )
    eval_max_episode_steps: int | None = option(
        None,
        help="longer episodes are cut off",
        minimum=1,
        title="Most steps per episode",
        section="Details",
        order=8,
        modes=(EVALUATE,),
    )
    frames: Literal["none", "png", "shm"] = option(
        "png", help="interactive: frames as PNG, as a shared-memory segment, or not at all"
    )
    play: Mapping[str, Any] | None = option(
        None, help="interactive: play in real time at once; the fields of the command play"
    )
    fastlane_enabled: bool | None = option(None, help="live view: false turns it off")
    fastlane_only: bool | None = option(
        None, help="kept for compatibility: this worker sends frames to the live view only"
    )
    fastlane_video_mode: Literal["grid", "single", "off"] | None = option(
        None,
        help="which environments are seen while it runs",
        title="Live frames",
        section="Frames",
        order=1,
        placeholder="grid",
        modes=(TRAIN, RESUME),
        choice_help=MODE_HELP,
    )
    fastlane_slot: int | None = option(
        None,
        help="which environment is seen, with single",
        minimum=0,
        title="Environment number",
        section="Frames",
        order=2,
        placeholder="0",
        modes=(TRAIN, RESUME, EVALUATE),
        shown_when={"fastlane_video_mode": "single", "video_mode": "single"},
    )
    fastlane_grid_limit: int | None = option(
        None,
        help="how many environments are seen, with grid",
        minimum=1,
        title="Most at once",
        section="Frames",
        order=3,
        placeholder=str(DEFAULT_SLOTS),
        modes=(TRAIN, RESUME),
        shown_when={"fastlane_video_mode": "grid"},
    )
    fastlane_budget: float | None = option(
        None,
        help="while it is watched; more is smoother, and slows the run down",
        minimum=0.001,
        maximum=1.0,
        title="Share of its time",
        section="Frames",
        order=4,
        placeholder=f"{DEFAULT_BUDGET:g}",
        modes=(TRAIN, RESUME, EVALUATE),
    )
    video_mode: Literal["grid", "single", "off"] | None = option(
        None,
        help="which environments are seen while it runs",
        title="Live frames",
        section="Frames",
        order=1,
        placeholder="grid",
        modes=(EVALUATE,),
        choice_help=MODE_HELP,
    )
    grid_limit: int | None = option(
        None,
        help="how many environments are seen, with grid",
        minimum=1,
        title="Most at once",
        section="Frames",
        order=3,
        placeholder=str(DEFAULT_SLOTS),
        modes=(EVALUATE,),
        shown_when={"video_mode": "grid"},
    )


SHORTCUTS = (
    Shortcut("--algo", "algo", "the algorithm, as algo in the config"),
    Shortcut("--env-id", "env_id", "the environment, as env_id in the config"),
    Shortcut("--total-timesteps", "total_timesteps", "environment steps of the whole run"),
    Shortcut("--seed", "seed", "seed of networks, sampling and environments"),
    Shortcut("--worker-id", "worker_id", "name of this worker"),
    Shortcut("--policy-path", "extras.policy_path", "the checkpoint to evaluate or to play with"),
    Shortcut("--extras", "extras", "entries of extras", is_object=True),
    Shortcut(
        "--interactive",
        "extras.mode",
        "reset and step by JSON lines on stdin; answers on stdout",
        value=INTERACTIVE,
    ),
)


# Each of these has a field of its own in the config.
_TOP_LEVEL = ("env_id", "total_timesteps", "seed")
_ONLY_UPSTREAM = ("upstream_path", "env_python", "compatibility")


@dataclass(frozen=True)
class CleanRLWorkerConfig:
    """`algo`, `env_id` and `total_timesteps` may be left out where a checkpoint tells them."""

    algo: str | None = option(None, help="the algorithm; see `mosaic algos`")
    env_id: str | None = option(None, help="the environment; see `mosaic envs`", editor="env_id")
    total_timesteps: int | None = option(
        None, help="environment steps of the whole run", minimum=1, maximum=MAX_TIMESTEPS
    )
    seed: int | None = option(
        None, help="seed of networks, sampling and environments", minimum=0, maximum=2**32 - 1
    )
    extras: Mapping[str, Any] = option(
        dict, help="the mode, where to log, and parameters of the algorithm"
    )
    run_id: str | None = option(None, help="set by MOSAIC")
    worker_id: str | None = option(None, help="set by MOSAIC")
    agent_id: str | None = option(None, help="set by MOSAIC")
    # The fields as they were given, for debugging.
    raw: Mapping[str, Any] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        given = {item.name: getattr(self, item.name) for item in config_fields(type(self))}
        object.__setattr__(self, "raw", {k: v for k, v in given.items() if v is not None})
        _check_worker_extras(self.extras)
        if self.source == UPSTREAM:
            # Names and parameters are those of the script, which `check` reads.
            _check_upstream(self)
            return
        if self.algo is not None:
            find_algorithm(self.algo)
        _check_parameters(self.extras, self.algo)
        _check_mode(self)

    @property
    def mode(self) -> str:
        return self.extras.get("mode") or TRAIN

    @property
    def source(self) -> str:
        return self.extras.get("source") or NATIVE

    def extra(self, name: str) -> Any:
        """The worker's own extra of this name, or its default."""
        value = self.extras.get(name)
        return _EXTRAS[name].get("default") if value is None else value


_EXTRAS: Mapping[str, Mapping[str, Any]] = config_schema(WorkerExtras)["properties"]


def worker_config_schema() -> dict[str, Any]:
    """The config's JSON Schema, with the worker's own extras spelled out for forms."""
    schema = config_schema(CleanRLWorkerConfig)
    schema["properties"]["extras"]["properties"] = dict(_EXTRAS)
    return schema


def _check_worker_extras(extras: Mapping[str, Any]) -> None:
    if extras.get("curriculum_schedule"):
        raise _invalid(
            "extras.curriculum_schedule",
            "curriculum training is not available yet",
            "leave it out, and train on one environment",
        )
    if "wandb_api_key" in extras:
        raise _invalid(
            "extras.wandb_api_key",
            "a config is stored in plain text, so a key must not be in it",
            "set the environment variable WANDB_API_KEY for the run",
        )
    for name, value in extras.items():
        if name in _EXTRAS and value is not None:
            for violation in violations(value, dict(_EXTRAS[name]), f"extras.{name}"):
                raise _invalid(violation.path, violation.message, violation.hint)


def _check_parameters(extras: Mapping[str, Any], algo: str | None) -> None:
    for name in _ONLY_UPSTREAM:
        if extras.get(name) is not None:
            message = f"is given, but the source is {NATIVE}"
            raise _invalid(f"extras.{name}", message, f'add "source": "{UPSTREAM}"')
    parameters = parameters_of(algo)
    for name in extras:
        if name not in _EXTRAS and name not in parameters:
            owner = f"the worker nor a parameter of {algo or 'any algorithm'}"
            message = f"is neither an extra of {owner}"
            raise _unknown(f"extras.{name}", message, [*_EXTRAS, *parameters])
    params = extras.get("algo_params") or {}
    for name in params:
        if name not in parameters:
            message = f"is not a parameter of {algo or 'any algorithm'}"
            raise _unknown(f"extras.algo_params.{name}", message, parameters)
        if name in extras:
            where = f"extras.algo_params.{name}"
            raise _invalid(where, f"is given in extras.{name} too", "give it once")


def _check_upstream(config: CleanRLWorkerConfig) -> None:
    if config.mode != TRAIN:
        hint = "an upstream script can only train"
        if config.mode == EVALUATE:
            hint = "leave the source out: a .cleanrl_model of CleanRL is evaluated by this worker"
        message = f"the mode {config.mode} does not go with the source {UPSTREAM}"
        raise _invalid("extras.mode", message, hint)
    if config.algo is None:
        raise _invalid("algo", "is required", "the name of the script, for example ppo")


def _check_mode(config: CleanRLWorkerConfig) -> None:
    mode, extras = config.mode, config.extras
    if mode == RESUME:
        _check_readable(mode, "checkpoint_path", extras.get("checkpoint_path"))
    elif mode == EVALUATE or (mode == INTERACTIVE and extras.get("policy_path")):
        _check_readable(mode, "policy_path", extras.get("policy_path"))
    elif mode == INTERACTIVE:
        _require(config, ("env_id",))
    else:
        _require(config, ("algo", "env_id", "total_timesteps"))
        if extras.get("warm_start_path"):
            _check_readable(mode, "warm_start_path", extras["warm_start_path"])
    given = {**extras, **(extras.get("algo_params") or {})}
    for name in _TOP_LEVEL:
        if given.get(name) is not None and getattr(config, name) is not None:
            raise _invalid(f"extras.{name}", f"is given as {name} too", "give it once")


def _require(config: CleanRLWorkerConfig, names: Iterable[str]) -> None:
    for name in names:
        given = {**config.extras, **(config.extras.get("algo_params") or {})}
        if getattr(config, name) is None and given.get(name) is None:
            raise _invalid(name, "is required", f"add '{name}', or resume from a checkpoint")


def _check_readable(mode: str, name: str, path: Any) -> None:
    where = f"extras.{name}"
    if not path:
        raise _invalid(where, f"is required by the mode {mode}", "the path of a .cleanrl_model")
    if not os.access(path, os.R_OK):
        reason = "cannot be read" if Path(path).exists() else "does not exist"
        raise _invalid(where, f"{path} {reason}", "give the path of a .cleanrl_model file")


def _unknown(where: str, message: str, known: Iterable[str]) -> ConfigError:
    names = sorted(set(known))
    close = difflib.get_close_matches(where.rpartition(".")[2], names, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(names)}"
    return _invalid(where, message, hint)


def _invalid(where: str, message: str, hint: str) -> ConfigError:
    text = f"'{where}' {message}" if message.startswith("is ") else f"'{where}': {message}"
    return ConfigError(f"Invalid CleanRLWorkerConfig: {text}", hint=hint, field=where)
