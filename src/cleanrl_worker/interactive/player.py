"""Player: one environment, and answers to commands. Knows nothing of pipes, time and processes."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np
from gymnasium import spaces

from cleanrl_worker.interactive.frames import FrameChannel, is_frame
from mosaic.worker import to_json

if TYPE_CHECKING:
    from cleanrl_worker.evaluation.policy import Decision

PROTOCOL_VERSION = "1.1"
HUMAN, POLICY = "human", "policy"
MAX_SEED = 2**32 - 1


class ActionError(ValueError):
    """The action cannot be taken; the message says why."""


Message = dict[str, Any]


class ActingPolicy(Protocol):
    """The part of `evaluation.policy.Policy` a player needs."""

    def begin_episode(self, slot: int = 0, seed: int = 0) -> None: ...

    def decide(self, observations: Any, deterministic: bool = True) -> Decision: ...


class StepTaken(NamedTuple):
    episode_index: int
    step_index: int  # the first one is 0
    episode_seed: int
    action: Any
    observation: Any
    reward: float
    terminated: bool
    truncated: bool
    controller: str  # HUMAN or POLICY
    value: float | None = None  # what the policy expected of the state it acted in


class EpisodeOver(NamedTuple):
    """Neither terminated nor truncated: it was given up."""

    episode_index: int
    episode_seed: int
    total_reward: float
    steps: int
    terminated: bool
    truncated: bool


class Listener(Protocol):
    """Who is told what happened."""

    def on_step(self, step: StepTaken) -> None: ...

    def on_episode(self, episode: EpisodeOver) -> None: ...


class _NoListener:
    def on_step(self, step: StepTaken) -> None: ...

    def on_episode(self, episode: EpisodeOver) -> None: ...


class SeedError(ValueError):
    """What was given is not a seed."""


class Player:
    """`answer` gives the messages for one command; a wrong command gives an `error`.

    Each episode has a seed of its own, so that any of them can be replayed by itself.
    """

    def __init__(
        self,
        env: Any,
        policy: ActingPolicy | None = None,
        frames: FrameChannel | None = None,
        default_seed: int = 1,
        is_deterministic: bool = True,
        listener: Listener | None = None,
    ) -> None:
        self.is_stopped = False
        self.is_running = False  # an episode is under way
        self.episode = -1
        self.step_index = 0  # steps of this episode so far
        self.episode_reward = 0.0
        self.last_reward = 0.0
        self._env = env
        self._policy = policy
        self._frames = frames
        self._next_seed = default_seed
        self._is_deterministic = is_deterministic
        self._listener = listener or _NoListener()
        self._observation: Any = None
        self._seed = default_seed

    @property
    def has_policy(self) -> bool:
        return self._policy is not None

    @property
    def action_space(self) -> Any:
        return self._env.action_space

    def introduction(self, facts: Mapping[str, Any]) -> Message:
        return {
            "type": "init",
            "version": PROTOCOL_VERSION,
            "action_space": action_space_json(self._env.action_space),
            "action_meanings": _action_meanings(self._env),
            "observation_shape": list(self._env.observation_space.shape or ()),
            "has_policy": self.has_policy,
            **facts,
        }

    def answer(self, command: Any) -> list[Message]:
        if not isinstance(command, dict):
            return [error_message("a command is a JSON object")]
        name = command_name(command)
        match name:
            case "reset":
                return self._reset(command.get("seed"))
            case "step":
                return self._answer_step(command)
            case "ping":
                return [{"type": "pong"}]
            case "stop":
                return [self.stop()]
        return [
            error_message(
                f"unknown command {str(name)[:64]!r}: reset, step, ping and stop are known"
            )
        ]

    def stop(self) -> Message:
        self._give_up()
        self.is_stopped = True
        return {"type": "stopped", "episodes": self.episode + 1}

    def begin(self, seed: Any = None) -> int:
        """A new episode; without a seed, that after the last one's. Raises SeedError."""
        if seed is None:
            seed = self._next_seed
        if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed <= MAX_SEED:
            raise SeedError(f"a seed is an integer from 0 to {MAX_SEED}")
        self._give_up()
        if self.step_index or self.episode < 0:  # an episode without a step was none
            self.episode += 1
        self._seed, self._next_seed = seed, (seed + 1) % (MAX_SEED + 1)
        self._observation, _ = self._env.reset(seed=seed)
        self.is_running = True
        if self._policy is not None:
            self._policy.begin_episode(seed=seed)
        self.step_index, self.episode_reward, self.last_reward = 0, 0.0, 0.0
        return seed

    def take(self, action: Any = None) -> StepTaken:
        """One step, by the policy where no action is given. Raises ActionError."""
        if not self.is_running:
            raise ActionError("no episode is running: send reset first")
        value: float | None = None
        if action is None:
            controller = POLICY
            chosen, value = self._policy_action()
        else:
            controller = HUMAN
            chosen = read_action(self.action_space, action)
        self._observation, reward, terminated, truncated, _ = self._env.step(chosen)
        self.last_reward = float(reward)
        self.episode_reward += self.last_reward
        taken = StepTaken(
            self.episode,
            self.step_index,
            self._seed,
            chosen,
            self._observation,
            self.last_reward,
            bool(terminated),
            bool(truncated),
            controller,
            value,
        )
        self.step_index += 1
        self._listener.on_step(taken)
        if terminated or truncated:
            self._end(taken.terminated, taken.truncated)
        return taken

    def _end(self, terminated: bool, truncated: bool) -> None:
        self.is_running = False
        self._listener.on_episode(
            EpisodeOver(
                self.episode,
                self._seed,
                self.episode_reward,
                self.step_index,
                terminated,
                truncated,
            )
        )

    def _give_up(self) -> None:
        if self.is_running and self.step_index:
            self._end(terminated=False, truncated=False)
        self.is_running = False

    def _policy_action(self) -> tuple[Any, float | None]:
        if self._policy is None:
            raise ActionError("there is no policy, so each step needs an action")
        observations = np.asarray(self._observation)[None]
        actions, values = self._policy.decide(observations, self._is_deterministic)
        action = actions[0]
        chosen = read_action(self.action_space, action if action.shape else int(action))
        return chosen, None if values is None else float(values[0])

    def _reset(self, seed: Any) -> list[Message]:
        try:
            chosen = self.begin(seed)
        except SeedError as error:
            return [error_message(str(error))]
        return [self._with_frame({"type": "ready", "seed": chosen, **self._position()})]

    def _answer_step(self, command: Mapping[str, Any]) -> list[Message]:
        try:
            taken = self.take(command.get("action"))
        except ActionError as error:
            return [error_message(str(error))]
        message = {
            "type": "step",
            **self._position(),
            "action": to_json(taken.action),
            "reward": to_json(taken.reward),
            "terminated": taken.terminated,
            "truncated": taken.truncated,
        }
        messages = [self._with_frame(message)]
        if not self.is_running:
            messages.append(self.episode_message(taken))
        return messages

    def episode_message(self, last: StepTaken) -> Message:
        return {
            "type": "episode_done",
            "total_reward": to_json(self.episode_reward),
            "episode_length": self.step_index,
            "episode_number": self.episode,
            "terminated": last.terminated,
            "truncated": last.truncated,
        }

    def _position(self) -> Message:
        return {
            "step_index": self.step_index,
            "episode_index": self.episode,
            "episode_reward": to_json(self.episode_reward),
            "observation": to_json(self._observation),
        }

    def _with_frame(self, message: Message) -> Message:
        if self._frames is None:
            return message
        picture = self._env.render()
        frame = self._frames.describe(picture) if is_frame(picture) else None
        return {**message, "frame": frame}


def command_name(command: Mapping[str, Any]) -> Any:
    return command.get("cmd") or command.get("command")


def error_message(text: str) -> Message:
    return {"type": "error", "message": text}


def _action_meanings(env: Any) -> list[str]:
    """What a game calls its buttons; empty where the environment does not say."""
    ask = getattr(env.unwrapped, "get_action_meanings", None)
    return [str(meaning) for meaning in ask()] if callable(ask) else []


def read_action(space: spaces.Space[Any], value: Any) -> Any:
    """Continuous actions beyond their bounds are clipped, as in training."""
    if isinstance(space, spaces.Discrete):
        return _discrete(space, value)
    if isinstance(space, spaces.Box):
        return _continuous(space, value)
    raise ActionError(f"actions of the kind {type(space).__name__} cannot be sent")


def action_space_json(space: spaces.Space[Any]) -> dict[str, Any]:
    if isinstance(space, spaces.Discrete):
        return {"type": "discrete", "n": int(space.n)}
    if isinstance(space, spaces.Box):
        return {
            "type": "continuous",
            "shape": list(space.shape),
            "low": space.low.tolist(),
            "high": space.high.tolist(),
        }
    return {"type": type(space).__name__.lower()}


def _discrete(space: spaces.Discrete, value: Any) -> int:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < space.n:
        raise ActionError(f"an action is an integer from 0 to {int(space.n) - 1}")
    return value


def _continuous(space: spaces.Box, value: Any) -> Any:
    wanted = f"an action is {math.prod(space.shape)} numbers of the shape {list(space.shape)}"
    try:
        numbers = np.asarray(value, np.float64)
    except (TypeError, ValueError) as error:
        raise ActionError(wanted) from error
    if numbers.shape == () and space.shape == (1,):
        numbers = numbers[None]
    if isinstance(value, str | bool) or numbers.shape != space.shape:
        raise ActionError(wanted)
    if not np.isfinite(numbers).all():
        raise ActionError("an action must be finite")
    return np.clip(numbers, space.low, space.high).astype(space.dtype)
