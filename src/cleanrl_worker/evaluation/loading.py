"""Brings a policy back: its network from the file, its normaliser from the training state."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import torch
from torch import nn

from cleanrl_worker.eval_registry import EvalEntry, find_entry
from cleanrl_worker.evaluation.detection import PolicySource
from cleanrl_worker.evaluation.policy import Normalizer, Policy
from cleanrl_worker.kit.arguments import Arguments
from cleanrl_worker.kit.checkpoint_search import STATE_SUFFIX
from cleanrl_worker.kit.checkpoints import Checkpoint, load_checkpoint, load_payload
from cleanrl_worker.kit.model_file import Weights, split_payload
from cleanrl_worker.kit.normalizers import frozen_normalizer
from cleanrl_worker.launcher import restore_arguments
from cleanrl_worker.registry import find_algorithm
from mosaic.errors import ConfigError, WorkerError

if TYPE_CHECKING:
    import gymnasium

_SHOWN_MISFITS = 3


def load_policy(
    source: PolicySource,
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    *,
    slots: int = 1,
    device: torch.device | None = None,
) -> Policy:
    """Raises CheckpointError for a bad file, ConfigError when it does not fit the environment."""
    entry = find_entry(source.algo)
    checkpoint = None
    if source.state_folder is not None:
        checkpoint = load_checkpoint(source.path, with_replay=False)
    payload = load_payload(source.path) if checkpoint is None else checkpoint.weights
    arguments = training_arguments(source, _stored_arguments(payload))
    agent = _make_agent(entry, source, observation_space, action_space, arguments)
    _load_weights(agent, split_payload(payload), entry, source)
    normalizer = None
    if entry.normalizer_argument and getattr(arguments, entry.normalizer_argument):
        normalizer = _load_normalizer(source, checkpoint)
    return Policy(
        agent.to(device),
        action_space,
        slots=slots,
        normalizer=normalizer,
        is_recurrent=entry.is_recurrent,
        device=device,
    )


def training_arguments(source: PolicySource, stored: Mapping[str, Any] | None = None) -> Arguments:
    """What the policy was trained with: as detected, else as stored, else the defaults."""
    return restore_arguments(find_algorithm(source.algo), {**(stored or {}), **source.arguments})


def _stored_arguments(payload: Any) -> Mapping[str, Any]:
    """CleanRL's C51 stores its arguments beside the weights."""
    stored = payload.get("args") if isinstance(payload, Mapping) else None
    return stored if isinstance(stored, Mapping) else {}


def _make_agent(
    entry: EvalEntry,
    source: PolicySource,
    observation_space: gymnasium.Space[Any],
    action_space: gymnasium.Space[Any],
    arguments: Any,
) -> nn.Module:
    module, _, function = entry.agent.partition(":")
    build = getattr(importlib.import_module(module), function)
    try:
        # Without memory or values yet: initialising a large network takes longer than loading it.
        with torch.device("meta"):
            agent: nn.Module = build(observation_space, action_space, arguments)
    except ConfigError as error:
        raise _wrong_environment(source, error.message) from error
    return agent


def _load_weights(
    agent: nn.Module, states: tuple[Weights, ...], entry: EvalEntry, source: PolicySource
) -> None:
    if len(states) <= entry.payload_index:
        reason = f"the file holds {len(states)} networks, {entry.payload_index + 1} are expected"
        raise _wrong_environment(source, reason)
    state = states[entry.payload_index]
    differences = misfits(state, agent.state_dict())
    if differences:
        rest = len(differences) - _SHOWN_MISFITS
        more = f", and {rest} more" if rest > 0 else ""
        raise _wrong_environment(source, ", ".join(differences[:_SHOWN_MISFITS]) + more)
    agent.to_empty(device="cpu").load_state_dict(state)


def misfits(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
    """How the weights of a file differ from those a network has, for people."""
    differences = []
    for name in dict.fromkeys([*wanted, *found]):
        if name not in found:
            differences.append(f"{name} is missing")
        elif name not in wanted:
            differences.append(f"{name} is unknown")
        elif found[name].shape != wanted[name].shape:
            sizes = list(found[name].shape), list(wanted[name].shape)
            differences.append(f"{name} is {sizes[0]} where {sizes[1]} is needed")
    return differences


def _wrong_environment(source: PolicySource, reason: str) -> ConfigError:
    origin = f"on {source.trained_env_id}" if source.trained_env_id else "elsewhere"
    return ConfigError(
        f"The policy {source.path} was trained {origin} and does not fit {source.algo} "
        f"on {source.env_id}: {reason}",
        hint="evaluate it with the environment and the algorithm it was trained with",
        field="env_id",
    )


def _load_normalizer(source: PolicySource, checkpoint: Checkpoint | None) -> Normalizer:
    """Never without it: the policy has only ever seen normalised observations."""
    try:
        if checkpoint is not None:
            return frozen_normalizer(checkpoint.part("envs"))
        cause = None
    except WorkerError as error:
        cause = error
    raise WorkerError(
        f"The policy {source.path} was trained on normalised observations, but their statistics "
        "are missing: without them its results would mean nothing",
        hint=f"keep {source.path.stem}{STATE_SUFFIX} beside it; CleanRL's own files have none",
    ) from cause
