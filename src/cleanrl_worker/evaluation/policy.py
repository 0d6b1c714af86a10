"""Policy: a trained network that acts, and how it is brought back from its file.

The network comes from the file, its normaliser from the training state beside it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from cleanrl_worker.arguments import Arguments
from cleanrl_worker.eval_registry import EvalEntry, find_entry
from cleanrl_worker.evaluation.detection import PolicySource
from cleanrl_worker.kit.checkpoints.finding import STATE_SUFFIX
from cleanrl_worker.kit.checkpoints.loading import Checkpoint, load_checkpoint
from cleanrl_worker.kit.checkpoints.model_file import Weights, load_payload, split_payload
from cleanrl_worker.kit.normalizers import frozen_normalizer
from cleanrl_worker.launcher import restore_arguments
from cleanrl_worker.registry import find_algorithm
from mosaic.errors import ConfigError, WorkerError

if TYPE_CHECKING:
    import gymnasium


Array = NDArray[Any]
Normalizer = Callable[[Array], Array]

# A network is always asked for a multiple of this many rows. Products of matrices are rounded
# differently for another number of rows, and in the rows left over when the tiles of the processor
# are full; but a result must not depend on how many environments are played at once.
ROWS = 16
_SHOWN_DIFFERENCES = 3


class Decision(NamedTuple):
    """What is done in each slot, and what is expected of the state it is done in."""

    actions: Array  # integers, or vectors within the bounds
    values: Array | None  # None: the network that acts does not know


class Policy:
    """Acts in `slots` environments at once, each of which plays episodes of its own.

    `agent` is a module with `act(observations, deterministic)`, or with `act_and_value` where it
    knows what it expects; a recurrent one also takes its memory and which rows begin an episode,
    and gives its memory back.

    Deterministic: the likeliest, or best, action. Stochastic: drawn as in training (Q-networks: a
    random action now and then); every episode draws from a generator of its own, so that it does
    not depend on the others.
    """

    def __init__(
        self,
        agent: Any,
        action_space: gymnasium.Space[Any],
        *,
        slots: int = 1,
        normalizer: Normalizer | None = None,
        is_recurrent: bool = False,
        device: torch.device | None = None,
    ) -> None:
        self._agent = agent.eval()
        self._tells_values = hasattr(agent, "act_and_value")
        self._normalizer = normalizer
        self._device = device or torch.device("cpu")
        self._bounds = _bounds(action_space)
        self._rows = -(-slots // ROWS) * ROWS
        self._memory: tuple[Tensor, ...] | None = None
        if is_recurrent:
            self._memory = self._agent.initial_memory(self._rows)
        self._is_start = torch.ones(self._rows, dtype=torch.bool, device=self._device)
        self._generators = [torch.Generator(self._device) for _ in range(slots)]

    def begin_episode(self, slot: int = 0, seed: int = 0) -> None:
        """Forget the last episode of this slot; `seed` is for stochastic actions."""
        self._is_start[slot] = True
        self._generators[slot].manual_seed(seed)

    def act(self, observations: Array, deterministic: bool = True) -> Array:
        """One action per slot: see `decide`."""
        return self.decide(observations, deterministic).actions

    def decide(self, observations: Array, deterministic: bool = True) -> Decision:
        if self._normalizer is not None:
            observations = self._normalizer(observations)
        inputs = torch.from_numpy(np.ascontiguousarray(observations)).to(self._device)
        if deterministic:
            missing = self._rows - len(inputs)
            padded = torch.cat([inputs, inputs[:1].expand(missing, *inputs.shape[1:])])
            chosen, expected = self._choose(padded, slice(None), True)
            chosen = chosen[: len(inputs)]
        else:
            drawn = [self._sample(inputs, slot) for slot in range(len(inputs))]
            chosen = torch.cat([actions for actions, _ in drawn])
            known = [values for _, values in drawn if values is not None]
            expected = torch.cat(known) if known else None
        values = None if expected is None else expected[: len(inputs)].cpu().numpy()
        actions: Array = chosen.cpu().numpy()
        if self._bounds is None:
            return Decision(actions, values)
        low, high = self._bounds
        return Decision(np.clip(actions.reshape(len(actions), *low.shape), low, high), values)

    def _sample(self, inputs: Tensor, slot: int) -> tuple[Tensor, Tensor | None]:
        with _drawing_from(self._generators[slot]):
            return self._choose(inputs[slot : slot + 1], slice(slot, slot + 1), False)

    def _choose(
        self, inputs: Tensor, rows: slice, deterministic: bool
    ) -> tuple[Tensor, Tensor | None]:
        actions: Tensor
        values: Tensor | None = None
        if self._memory is None:
            if self._tells_values:
                actions, values = self._agent.act_and_value(inputs, deterministic)
            else:
                actions = self._agent.act(inputs, deterministic)
            return actions, values
        before = tuple(part[:, rows] for part in self._memory)
        actions, values, after = self._agent.act_and_value(
            inputs, deterministic, before, self._is_start[rows]
        )
        for part, new in zip(self._memory, after, strict=True):
            part[:, rows] = new
        self._is_start[rows] = False
        return actions, values


def _bounds(space: gymnasium.Space[Any]) -> tuple[Array, Array] | None:
    low, high = getattr(space, "low", None), getattr(space, "high", None)
    return None if low is None or high is None else (low, high)


@contextmanager
def _drawing_from(generator: torch.Generator) -> Iterator[None]:
    """Agents draw with torch's default generator: for a moment it is this one."""
    default = _default_generator(generator.device)
    before = default.get_state()
    default.set_state(generator.get_state())
    try:
        yield
    finally:
        generator.set_state(default.get_state())
        default.set_state(before)


def _default_generator(device: torch.device) -> torch.Generator:
    if device.type == "cuda":
        generators: Sequence[torch.Generator] = torch.cuda.default_generators
        return generators[device.index or 0]
    return torch.default_generator


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
    differences = weight_differences(state, agent.state_dict())
    if differences:
        rest = len(differences) - _SHOWN_DIFFERENCES
        more = f", and {rest} more" if rest > 0 else ""
        raise _wrong_environment(source, ", ".join(differences[:_SHOWN_DIFFERENCES]) + more)
    agent.to_empty(device="cpu").load_state_dict(state)


def weight_differences(found: Mapping[str, Any], wanted: Mapping[str, Any]) -> list[str]:
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
