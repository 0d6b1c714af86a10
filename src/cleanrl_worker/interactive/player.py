"""Player: one environment, and answers to commands. Knows nothing of pipes and processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from cleanrl_worker.interactive.actions import ActionError, action_space_json, read_action
from cleanrl_worker.interactive.frames import FrameChannel
from cleanrl_worker.interactive.png import is_frame
from mosaic.worker import to_json

PROTOCOL_VERSION = "1.0"

Message = dict[str, Any]


class ActingPolicy(Protocol):
    """The part of `evaluation.policy.Policy` a player needs."""

    def begin_episode(self, slot: int = 0, seed: int = 0) -> None: ...

    def act(self, observations: Any, deterministic: bool = True) -> Any: ...


class Player:
    """`answer` gives the messages for one command; a wrong command gives an `error`."""

    def __init__(
        self,
        env: Any,
        policy: ActingPolicy | None = None,
        frames: FrameChannel | None = None,
        default_seed: int = 1,
        is_deterministic: bool = True,
    ) -> None:
        self.is_stopped = False
        self._env = env
        self._policy = policy
        self._frames = frames
        self._default_seed = default_seed
        self._is_deterministic = is_deterministic
        self._observation: Any = None
        self._is_running = False
        self._episode = -1
        self._step = 0
        self._episode_reward = 0.0

    def introduction(self, facts: Mapping[str, Any]) -> Message:
        return {
            "type": "init",
            "version": PROTOCOL_VERSION,
            "action_space": action_space_json(self._env.action_space),
            "observation_shape": list(self._env.observation_space.shape or ()),
            "has_policy": self._policy is not None,
            **facts,
        }

    def answer(self, command: Any) -> list[Message]:
        if not isinstance(command, dict):
            return [_error("a command is a JSON object")]
        name = command.get("cmd") or command.get("command")
        match name:
            case "reset":
                return self._reset(command.get("seed"))
            case "step":
                return self._take_step(command)
            case "ping":
                return [{"type": "pong"}]
            case "stop":
                return [self.stop()]
        return [_error(f"unknown command {str(name)[:64]!r}: reset, step, ping and stop are known")]

    def stop(self) -> Message:
        self.is_stopped = True
        return {"type": "stopped", "episodes": self._episode + 1}

    def _reset(self, seed: Any) -> list[Message]:
        if seed is None and self._episode < 0:
            seed = self._default_seed
        if seed is not None and (isinstance(seed, bool) or not isinstance(seed, int) or seed < 0):
            return [_error("a seed is an integer, 0 or more")]
        self._observation, _ = self._env.reset(seed=seed)
        self._is_running = True
        self._episode += 1
        if self._policy is not None:
            self._policy.begin_episode(seed=self._default_seed + self._episode)
        self._step, self._episode_reward = 0, 0.0
        return [self._with_frame({"type": "ready", "seed": seed, **self._position()})]

    def _take_step(self, command: Mapping[str, Any]) -> list[Message]:
        if not self._is_running:
            return [_error("no episode is running: send reset first")]
        try:
            action = self._choose(command)
        except ActionError as error:
            return [_error(str(error))]
        self._observation, reward, terminated, truncated, _ = self._env.step(action)
        self._step += 1
        self._episode_reward += float(reward)
        message = {
            "type": "step",
            **self._position(),
            "action": to_json(action),
            "reward": to_json(float(reward)),
            "terminated": bool(terminated),
            "truncated": bool(truncated),
        }
        messages = [self._with_frame(message)]
        if terminated or truncated:
            self._is_running = False
            messages.append(
                {
                    "type": "episode_done",
                    "total_reward": to_json(self._episode_reward),
                    "episode_length": self._step,
                    "episode_number": self._episode,
                    "terminated": bool(terminated),
                    "truncated": bool(truncated),
                }
            )
        return messages

    def _choose(self, command: Mapping[str, Any]) -> Any:
        if command.get("action") is not None:
            return read_action(self._env.action_space, command["action"])
        if self._policy is None:
            raise ActionError("there is no policy, so each step needs an action")
        observations = np.asarray(self._observation)[None]
        action = self._policy.act(observations, self._is_deterministic)[0]
        return read_action(self._env.action_space, action if action.shape else int(action))

    def _position(self) -> Message:
        return {
            "step_index": self._step,
            "episode_index": self._episode,
            "episode_reward": to_json(self._episode_reward),
            "observation": to_json(self._observation),
        }

    def _with_frame(self, message: Message) -> Message:
        if self._frames is None:
            return message
        picture = self._env.render()
        frame = self._frames.describe(picture) if is_frame(picture) else None
        return {**message, "frame": frame}


def _error(text: str) -> Message:
    return {"type": "error", "message": text}
