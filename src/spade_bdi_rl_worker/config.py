"""BdiWorkerConfig: what a run of this worker can be told. Imports nothing heavy."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mosaic.contracts.schema_check import violations
from mosaic.worker import ConfigError, Shortcut, config_schema, option
from spade_bdi_rl_worker.catalogue import ALGORITHM_NAMES, MAX_TIMESTEPS, TOP_LEVEL, parameters_of
from spade_bdi_rl_worker.options import (
    EMBEDDED,
    EVALUATE,
    PASSWORD_VARIABLE,
    RESUME,
    TRAIN,
    WorkerExtras,
)

SHORTCUTS = (
    Shortcut("--algo", "algo", "the algorithm, as algo in the config"),
    Shortcut("--env-id", "env_id", "the environment, as env_id in the config"),
    Shortcut("--total-timesteps", "total_timesteps", "environment steps of the whole run"),
    Shortcut("--seed", "seed", "seed of the choices and of the environment"),
    Shortcut("--worker-id", "worker_id", "name of this worker"),
    Shortcut("--policy-path", "extras.policy_path", "the checkpoint to evaluate"),
    Shortcut("--extras", "extras", "entries of extras", is_object=True),
)
MAX_PLAN_BYTES = 1_000_000
_AGENT_FIELDS = ("name", "role", "plan")
_AGENT_NAME = re.compile(r"[a-z][a-z0-9_]{0,31}")  # as `agents.accounts` has it
_ROLES = ("coach", "observer")
_HOST = re.compile(r"[A-Za-z0-9]([A-Za-z0-9.:_-]{0,251}[A-Za-z0-9])?")
_OF_ANOTHER_SERVER = ("server_domain", "server_user")


@dataclass(frozen=True)
class BdiWorkerConfig:
    """`algo`, `env_id` and `total_timesteps` may be left out where a checkpoint tells them."""

    algo: str | None = option(None, help="the algorithm; see `mosaic algos`")
    env_id: str | None = option(None, help="the environment; see `mosaic envs`", editor="env_id")
    total_timesteps: int | None = option(
        None, help="environment steps of the whole run", minimum=1, maximum=MAX_TIMESTEPS
    )
    seed: int | None = option(
        None, help="seed of the choices and of the environment", minimum=0, maximum=2**63 - 1
    )
    extras: Mapping[str, Any] = option(
        dict, help="the mode, the agents, what is reported, and parameters of the algorithm"
    )
    run_id: str | None = option(None, help="set by MOSAIC")
    worker_id: str | None = option(None, help="set by MOSAIC")
    agent_id: str | None = option(None, help="set by MOSAIC")

    def __post_init__(self) -> None:
        if self.algo is not None and self.algo not in ALGORITHM_NAMES:
            raise _unknown("algo", f"is {self.algo!r}, which is no algorithm", ALGORITHM_NAMES)
        self._check_extras()
        self._check_parameters()
        self._check_mode()
        _check_server(self)
        _check_plans(self)
        _check_agents(self)

    @property
    def mode(self) -> str:
        return self.extras.get("mode") or TRAIN

    @property
    def episodes(self) -> int | None:
        """Where the run ends besides; `run_started` tells it."""
        found = self.extra("episodes")
        return None if self.mode == EVALUATE else found

    def extra(self, name: str) -> Any:
        """The worker's own extra of this name, or its default."""
        value = self.extras.get(name)
        return EXTRAS[name].get("default") if value is None else value

    @property
    def parameters(self) -> dict[str, Any]:
        """Parameters of the algorithm that were given, wherever they stand."""
        known = parameters_of(self.algo)
        loose = {name: value for name, value in self.extras.items() if name in known}
        return {**loose, **(self.extras.get("algo_params") or {})}

    def own(self, name: str) -> Any:
        """`env_id`, `total_timesteps` or `seed`, also where it was given as a parameter."""
        value = getattr(self, name)
        return self.parameters.get(name) if value is None else value

    def _check_extras(self) -> None:
        known = {*EXTRAS, *parameters_of(self.algo)}
        for name, value in self.extras.items():
            if "password" in name.lower():
                raise _invalid(
                    f"extras.{name}",
                    "a config is stored in plain text, so a password must not be in it",
                    f"set the environment variable {PASSWORD_VARIABLE} for the run",
                )
            if name not in known:
                raise _unknown(
                    f"extras.{name}",
                    "is neither an extra of the worker nor a parameter of "
                    f"{self.algo or 'any algorithm'}",
                    known,
                )
            if name in EXTRAS and value is not None:
                _check_value(value, EXTRAS[name], f"extras.{name}")

    def _check_parameters(self) -> None:
        known = parameters_of(self.algo)
        given = self.extras.get("algo_params") or {}
        for name in given:
            if name not in known:
                message = f"is not a parameter of {self.algo or 'any algorithm'}"
                raise _unknown(f"extras.algo_params.{name}", message, known)
            if name in self.extras:
                where = f"extras.algo_params.{name}"
                raise _invalid(where, f"is given in extras.{name} too", "give it once")
        for name, value in self.parameters.items():
            where = f"extras.{name}" if name in self.extras else f"extras.algo_params.{name}"
            if name in TOP_LEVEL and getattr(self, name) is not None:
                raise _invalid(where, f"is given as {name} too", "give it once")
            if value is not None:
                _check_value(value, known[name], where)

    def _check_mode(self) -> None:
        extras = self.extras
        if self.mode == RESUME:
            _check_readable(self.mode, "checkpoint_path", extras.get("checkpoint_path"))
        elif self.mode == EVALUATE:
            _check_readable(self.mode, "policy_path", extras.get("policy_path"))
        else:
            for name in ("algo", "env_id", "total_timesteps"):
                missing = getattr(self, name) is None if name == "algo" else self.own(name) is None
                if missing:
                    raise _invalid(name, "is required", f"add '{name}', or resume a checkpoint")
            if extras.get("warm_start_path"):
                _check_readable(self.mode, "warm_start_path", extras["warm_start_path"])


EXTRAS: Mapping[str, Mapping[str, Any]] = config_schema(WorkerExtras)["properties"]


def worker_config_schema() -> dict[str, Any]:
    """The config's JSON Schema, with the worker's own extras spelled out for forms."""
    schema = config_schema(BdiWorkerConfig)
    schema["properties"]["extras"]["properties"] = dict(EXTRAS)
    return schema


def read_plan(path: str, where: str) -> str:
    """The text of a file with plans. Raises ConfigError that names the field."""
    try:
        with Path(path).expanduser().open("rb") as file:
            content = file.read(MAX_PLAN_BYTES + 1)
        if len(content) > MAX_PLAN_BYTES:
            raise _invalid(where, f"{path} has more than {MAX_PLAN_BYTES:,} bytes", "a plan file")
        return content.decode()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is not text in UTF-8"
        hint = "give the whole path of a file with plans in AgentSpeak (.asl)"
        raise _invalid(where, f"{path!r} cannot be read: {reason}", hint) from error


def _check_server(config: BdiWorkerConfig) -> None:
    server = config.extra("server")
    if server == EMBEDDED:
        for name in _OF_ANOTHER_SERVER:
            if config.extra(name):
                raise _invalid(
                    f"extras.{name}",
                    "is given, but the server is the embedded one",
                    "give the host in extras.server, or leave it out",
                )
    elif not _HOST.fullmatch(server):
        raise _invalid(
            "extras.server",
            f"{server[:80]!r} is no host",
            "'embedded', or for example xmpp.example.org",
        )


def _check_plans(config: BdiWorkerConfig) -> None:
    if config.mode == EVALUATE:
        return
    for name in ("plan", "coach_plan"):
        if config.extra(name):
            read_plan(config.extra(name), f"extras.{name}")


def _check_agents(config: BdiWorkerConfig) -> None:
    for place, agent in enumerate(config.extra("agents") or ()):
        where = f"extras.agents.{place}"
        for name in agent:
            if name not in _AGENT_FIELDS:
                raise _unknown(f"{where}.{name}", "is no field of an agent", _AGENT_FIELDS)
        if not isinstance(agent.get("name"), str) or not _AGENT_NAME.fullmatch(agent["name"]):
            hint = "small letters, digits and underscores, for example scout"
            raise _invalid(f"{where}.name", f"{agent.get('name')!r} is no name for an agent", hint)
        if agent["name"] in ("learner", "coach"):
            raise _invalid(f"{where}.name", f"there is a {agent['name']} already", "choose another")
        if agent.get("role", "observer") not in _ROLES:
            raise _unknown(f"{where}.role", f"is {agent['role']!r}, which is no role", _ROLES)
        if agent.get("plan") is not None:
            if not isinstance(agent["plan"], str):
                raise _invalid(f"{where}.plan", "is no path", "the path of an .asl file")
            read_plan(agent["plan"], f"{where}.plan")


def _check_value(value: Any, schema: Mapping[str, Any], where: str) -> None:
    for violation in violations(value, dict(schema), where):
        raise _invalid(violation.path, violation.message, violation.hint)


def _check_readable(mode: str, name: str, path: Any) -> None:
    where = f"extras.{name}"
    if not path:
        raise _invalid(where, f"is required by the mode {mode}", "the path of a .qtable file")
    if "\0" in path or not os.access(path, os.R_OK):
        reason = "cannot be read" if "\0" not in path and Path(path).exists() else "does not exist"
        raise _invalid(where, f"{path!r} {reason}", "give the path of a .qtable file")


def _unknown(where: str, message: str, known: Iterable[str]) -> ConfigError:
    names = sorted(set(known))
    close = difflib.get_close_matches(where.rpartition(".")[2], names, n=3)
    hint = f"did you mean {' or '.join(close)}?" if close else f"known: {', '.join(names)}"
    return _invalid(where, message, hint)


def _invalid(where: str, message: str, hint: str) -> ConfigError:
    text = f"'{where}' {message}" if message.startswith("is ") else f"'{where}': {message}"
    return ConfigError(f"Invalid BdiWorkerConfig: {text}", hint=hint, field=where)
