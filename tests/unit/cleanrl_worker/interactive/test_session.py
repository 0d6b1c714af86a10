"""PlaySession: a person and a policy in real time, by a clock that only the test moves."""

from __future__ import annotations

from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from cleanrl_worker.evaluation.policy import Decision
from cleanrl_worker.interactive.player import EpisodeOver, Player, StepTaken
from cleanrl_worker.interactive.session import RESTART_S, PlaySession

FPS = 10.0
TICK_S = 1 / FPS


class Endless(gymnasium.Env[Any, Any]):
    """Ends only where it is told to."""

    observation_space = spaces.Box(0, 1, (1,), np.float32)

    def __init__(self, action_space: spaces.Space[Any], length: int = 1000) -> None:
        self.action_space = action_space
        self.length = length
        self.seeds: list[int | None] = []
        self.actions: list[Any] = []
        self.count = 0

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Any, dict[str, Any]]:
        self.seeds.append(seed)
        self.count = 0
        return np.zeros(1, np.float32), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        self.actions.append(action if isinstance(action, int) else action.tolist())
        self.count += 1
        return np.zeros(1, np.float32), 1.0, self.count == self.length, False, {}


class Always:
    """A policy that does the same thing for ever."""

    def __init__(self, action: int) -> None:
        self.action = action

    def begin_episode(self, slot: int = 0, seed: int = 0) -> None: ...

    def decide(self, observations: Any, deterministic: bool = True) -> Decision:
        return Decision(np.array([self.action]), None)


class Ears:
    def __init__(self) -> None:
        self.steps: list[StepTaken] = []
        self.episodes: list[EpisodeOver] = []

    def on_step(self, step: StepTaken) -> None:
        self.steps.append(step)

    def on_episode(self, episode: EpisodeOver) -> None:
        self.episodes.append(episode)


class FakeScreen:
    def __init__(self) -> None:
        self.is_paused = False
        self.is_human = True
        self.shown = 0
        self.due_in_s: float | None = None

    def show(self) -> None:
        self.shown += 1

    def refresh(self) -> None: ...


class Table:
    """A session with everything around it."""

    def __init__(self, env: Endless, policy: Always | None = None) -> None:
        self.env, self.ears, self.screen, self.now = env, Ears(), FakeScreen(), 0.0
        self.player = Player(env, policy, listener=self.ears)
        self.session = PlaySession(self.player, self.screen, FPS, clock=lambda: self.now)

    def say(self, cmd: str, **fields: Any) -> list[dict[str, Any]]:
        return self.session.answer({"cmd": cmd, **fields})

    def pass_time(self, seconds: float) -> list[dict[str, Any]]:
        """As the serving loop does: it looks whenever something is due."""
        messages, end = [], self.now + seconds
        while True:
            messages += self.session.tick()
            wait = self.session.wait_s()
            if self.now + wait >= end - 1e-9:
                break
            self.now += max(wait, 1e-4)
        self.now = end
        return messages


DISCRETE, BOX = spaces.Discrete(3), spaces.Box(-1.0, 1.0, (1,), np.float32)


def human(length: int = 1000, **fields: Any) -> Table:
    table = Table(Endless(DISCRETE, length))
    assert table.say("play", controller="human", **fields)[0]["type"] == "playing"
    return table


def test_nothing_happens_before_the_first_key() -> None:
    table = human(idle=[1])
    table.pass_time(3.0)
    assert table.env.actions == [] and table.env.seeds == [1]
    assert table.screen.shown > 0, "the beginning can be seen"
    table.say("action", action=2)
    table.pass_time(TICK_S / 2)
    assert table.env.actions == [2], "the first key counts at once"


def test_the_held_key_is_taken_at_the_rate_and_then_the_idle_action() -> None:
    table = human(idle=[1])
    table.say("action", action=2)
    table.pass_time(3 * TICK_S)
    table.say("action", action=None)
    table.pass_time(2 * TICK_S)
    assert table.env.actions == [2, 2, 2, 1, 1]
    assert {step.controller for step in table.ears.steps} == {"human"}


def test_a_press_between_two_steps_is_not_lost() -> None:
    table = human(idle=[1])
    table.say("action", action=0)
    table.pass_time(TICK_S / 2)
    table.say("action", action=2)
    table.say("action", action=None)
    table.pass_time(2 * TICK_S)
    assert table.env.actions == [0, 2, 1]


def test_idle_actions_are_taken_in_turn() -> None:
    table = human(idle=[0, 2])
    table.say("action", action=1)
    table.say("action", action=None)
    table.pass_time(4.5 * TICK_S)
    assert table.env.actions == [1, 0, 2, 0, 2]


def test_where_nothing_can_be_done_by_doing_nothing_it_waits_for_the_next_key() -> None:
    table = human()
    table.say("action", action=1)
    table.say("action", action=None)
    table.pass_time(1.0)
    assert table.env.actions == [1]


def test_turn_based_games_step_with_each_key_and_only_then() -> None:
    table = human(turn_based=True)
    table.pass_time(2.0)
    for action in (0, 2, 1):
        table.say("action", action=action)
    table.say("action", action=None)
    table.pass_time(2.0)
    assert table.env.actions == [0, 2, 1]


def test_speed_and_pause_and_single_steps() -> None:
    table = Table(Endless(DISCRETE), Always(1))
    table.say("play", controller="policy", speed=2)
    table.pass_time(10 * TICK_S)
    assert len(table.env.actions) in (19, 20)
    table.say("pause")
    assert table.screen.is_paused
    before = len(table.env.actions)
    table.pass_time(1.0)
    table.say("step")
    table.pass_time(1.0)
    assert len(table.env.actions) == before + 1
    table.say("go")
    table.say("speed", value=0.5)
    table.pass_time(10 * TICK_S)
    assert len(table.env.actions) - before - 1 in (5, 6)


def test_taking_over_and_handing_back_begins_with_the_next_step() -> None:
    table = Table(Endless(DISCRETE), Always(1))
    table.say("play", controller="policy", idle=[0])
    table.pass_time(2.5 * TICK_S)
    table.say("controller", value="human")
    assert table.screen.is_human
    table.pass_time(2 * TICK_S)
    table.say("action", action=2)
    table.pass_time(TICK_S)
    table.say("controller", value="policy")
    table.pass_time(TICK_S)
    assert table.env.actions == [1, 1, 0, 0, 2, 1]
    acted = [step.controller for step in table.ears.steps]
    assert acted == ["policy"] * 2 + ["human"] * 3 + ["policy"]
    assert table.env.seeds == [1], "the episode is the same"


def test_the_end_of_an_episode_waits_for_somebody() -> None:
    table = human(length=2, idle=[1])
    table.say("action", action=1)
    messages = table.pass_time(5.0)
    assert [message["type"] for message in messages] == ["episode_done"]
    assert table.env.seeds == [1] and len(table.env.actions) == 2
    table.say("reset")
    assert table.env.seeds == [1, 2], "each episode has a seed of its own"
    assert table.ears.episodes == [EpisodeOver(0, 1, 2.0, 2, True, False)]


def test_or_the_next_one_begins_by_itself() -> None:
    table = Table(Endless(DISCRETE, 1), Always(1))
    table.say("play", controller="policy", auto_restart=True)
    table.pass_time(TICK_S + RESTART_S + 2 * TICK_S)
    assert table.env.seeds == [1, 2]


def test_an_episode_that_is_given_up_is_told_too() -> None:
    table = human(idle=[1])
    table.say("action", action=1)
    table.pass_time(3 * TICK_S)
    table.say("reset", seed=9)
    table.say("reset")
    assert table.ears.episodes == [EpisodeOver(0, 1, 3.0, 3, False, False)]
    assert table.env.seeds == [1, 9, 10]
    table.pass_time(1.5 * TICK_S)  # the key is still held
    assert table.say("stop")[0] == {"type": "stopped", "episodes": 2}
    assert table.ears.episodes[-1].episode_index == 1, "those without a step do not count"


def test_a_session_nobody_speaks_to_ends_by_itself() -> None:
    table = human(idle_limit_s=10)
    table.pass_time(9.0)
    table.say("ping")
    table.pass_time(9.0)
    assert not table.player.is_stopped
    table.pass_time(2.0)
    assert table.player.is_stopped


def test_continuous_actions_are_held_as_well() -> None:
    table = Table(Endless(BOX))
    table.say("play", controller="human", idle=[[0.0]])
    table.say("action", action=[0.5])
    table.pass_time(TICK_S / 2)
    table.say("action", action=None)
    table.pass_time(TICK_S)
    assert table.env.actions == [[0.5], [0.0]]


@pytest.mark.parametrize(
    ("command", "word"),
    [
        ({"cmd": "controller", "value": "policy"}, "no policy"),
        ({"cmd": "controller", "value": "ghost"}, "human or policy"),
        ({"cmd": "speed", "value": 99}, "from 0.25 to 8"),
        ({"cmd": "speed", "value": "fast"}, "a number"),
        ({"cmd": "action", "action": 7}, "integer from 0 to 2"),
        ({"cmd": "reset", "seed": -1}, "seed"),
        ({"cmd": "play", "fps": 0}, "fps"),
        ({"cmd": "dance"}, "unknown command"),
    ],
)
def test_wrong_commands_are_answered_and_change_nothing(command: dict[str, Any], word: str) -> None:
    table = human(idle=[1])
    message = table.session.answer(command)[0]
    assert message["type"] == "error"
    assert word in message["message"]
    table.say("action", action=2)
    table.pass_time(TICK_S / 2)
    assert table.env.actions == [2]


def test_before_play_it_goes_in_lock_step() -> None:
    table = Table(Endless(DISCRETE))
    table.pass_time(1.0)
    assert table.say("reset", seed=4)[0]["seed"] == 4
    assert table.say("step", action=1)[0]["type"] == "step"
    table.pass_time(1.0)
    assert table.env.actions == [1]
