"""Player: answers to commands, right and wrong ones."""

from __future__ import annotations

import json
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from cleanrl_worker.evaluation.policy import Decision
from cleanrl_worker.interactive.frames import PngFrames
from cleanrl_worker.interactive.player import Player


class Counting(gymnasium.Env[Any, Any]):
    """Ends after three steps; the reward is the action."""

    observation_space = spaces.Box(0, 10, (2,), np.float32)

    def __init__(self, action_space: spaces.Space[Any]) -> None:
        self.action_space = action_space
        self.seeds: list[int | None] = []
        self.actions: list[Any] = []
        self.count = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self.seeds.append(seed)
        self.count = 0
        return np.zeros(2, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.actions.append(action)
        self.count += 1
        reward = float(np.sum(action))
        return np.full(2, self.count, np.float32), reward, self.count == 3, False, {}

    def render(self) -> Any:
        return np.full((4, 6, 3), self.count, np.uint8)


class FixedPolicy:
    def __init__(self, action: Any) -> None:
        self.action = action
        self.begun = 0

    def begin_episode(self, slot: int = 0, seed: int = 0) -> None:
        self.begun += 1

    def decide(self, observations: Any, deterministic: bool = True) -> Decision:
        assert observations.shape == (1, 2)
        return Decision(np.array([self.action]), observations[:, 0] + 0.5)


DISCRETE = spaces.Discrete(3)
CONTINUOUS = spaces.Box(-1.0, 1.0, (2,), np.float32)


def send(player: Player, **command: Any) -> dict[str, Any]:
    messages = player.answer(command)
    assert json.loads(json.dumps(messages, allow_nan=False)) == messages
    return messages[0]


def test_introduction_says_what_can_be_done() -> None:
    message = Player(Counting(DISCRETE)).introduction({"env_id": "X"})
    assert message["type"] == "init" and message["env_id"] == "X"
    assert message["action_space"] == {"type": "discrete", "n": 3}
    assert message["has_policy"] is False
    continuous = Player(Counting(CONTINUOUS)).introduction({})["action_space"]
    assert continuous == {
        "type": "continuous",
        "shape": [2],
        "low": [-1.0, -1.0],
        "high": [1.0, 1.0],
    }


def test_episode_from_reset_to_its_end() -> None:
    env = Counting(DISCRETE)
    player = Player(env)
    ready = send(player, cmd="reset", seed=7)
    assert (ready["type"], ready["seed"], ready["step_index"]) == ("ready", 7, 0)
    assert ready["observation"] == [0.0, 0.0]
    step = send(player, cmd="step", action=2)
    assert (step["type"], step["action"], step["reward"]) == ("step", 2, 2.0)
    assert (step["step_index"], step["observation"]) == (1, [1.0, 1.0])
    send(player, cmd="step", action=1)
    last, done = player.answer({"cmd": "step", "action": 1})
    assert last["terminated"] is True and last["episode_reward"] == 4.0
    assert done["type"] == "episode_done"
    assert (done["total_reward"], done["episode_length"], done["episode_number"]) == (4.0, 3, 0)
    assert send(player, cmd="step", action=1)["type"] == "error", "the episode is over"
    assert send(player, cmd="reset")["episode_index"] == 1
    assert env.seeds == [7, 8], "each episode has a seed of its own"


def test_first_reset_without_seed_takes_the_default() -> None:
    env = Counting(DISCRETE)
    player = Player(env, default_seed=5)
    assert send(player, cmd="reset")["seed"] == 5


def test_policy_acts_where_the_person_does_not() -> None:
    env, policy = Counting(DISCRETE), FixedPolicy(2)
    player = Player(env, policy)
    send(player, cmd="reset")
    assert send(player, cmd="step")["action"] == 2
    assert send(player, cmd="step", action=0)["action"] == 0
    assert env.actions == [2, 0]
    assert policy.begun == 1


def test_continuous_actions_are_clipped_to_their_bounds() -> None:
    env = Counting(CONTINUOUS)
    player = Player(env, FixedPolicy([5.0, 0.0]))
    send(player, cmd="reset")
    assert send(player, cmd="step", action=[0.5, -3])["action"] == [0.5, -1.0]
    assert send(player, cmd="step")["action"] == [1.0, 0.0]
    assert env.actions[0].dtype == np.float32


@pytest.mark.parametrize("action", [3, -1, 0.5, "left", True, [1], {}])
def test_wrong_discrete_actions_are_errors(action: Any) -> None:
    env = Counting(DISCRETE)
    player = Player(env)
    send(player, cmd="reset")
    assert "an integer from 0 to 2" in send(player, cmd="step", action=action)["message"]
    assert env.actions == []


@pytest.mark.parametrize("action", [1, [1], [1, 2, 3], ["a", "b"], "ab", [[1, 2]], [1e999, 0]])
def test_wrong_continuous_actions_are_errors(action: Any) -> None:
    env = Counting(CONTINUOUS)
    player = Player(env)
    send(player, cmd="reset")
    assert send(player, cmd="step", action=action)["type"] == "error"
    assert env.actions == []


@pytest.mark.parametrize(
    "command",
    [
        {},
        {"cmd": "dance"},
        {"cmd": 5},
        {"cmd": "step"},
        {"cmd": "reset", "seed": -1},
        [],
        "x",
        None,
    ],
)
def test_wrong_commands_are_errors_and_the_session_goes_on(command: Any) -> None:
    player = Player(Counting(DISCRETE))
    assert player.answer(command)[0]["type"] == "error"
    assert send(player, cmd="ping") == {"type": "pong"}


def test_stop_ends_the_session_and_commands_may_be_called_command() -> None:
    player = Player(Counting(DISCRETE))
    assert send(player, command="stop")["type"] == "stopped"
    assert player.is_stopped


def test_frames_come_with_ready_and_step() -> None:
    player = Player(Counting(DISCRETE), frames=PngFrames())
    for message in (send(player, cmd="reset"), send(player, cmd="step", action=0)):
        frame = message["frame"]
        assert (frame["format"], frame["width"], frame["height"]) == ("png", 6, 4)


def test_frame_an_environment_cannot_draw_is_null(monkeypatch: pytest.MonkeyPatch) -> None:
    env = Counting(DISCRETE)
    monkeypatch.setattr(env, "render", lambda: "text")
    assert send(Player(env, frames=PngFrames()), cmd="reset")["frame"] is None
