"""The policies: random, no action at all, and one scripted by hand per known environment.

Observations and actions are those of Gymnasium's environments. numpy is imported where a rule needs
it, so that the worker can describe itself without.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Protocol

from baseline_worker.environment import base_name
from mosaic.worker import ConfigError

Rule = Callable[[Any], Any]
_DISCOUNT = 0.99


def cart_pole(env: Any) -> Rule:
    """Push towards where the pole falls, leaning a little against the cart's own drift."""

    def act(observation: Any) -> int:
        position, velocity, angle, spin = observation.tolist()
        return int(angle + 0.3 * spin + 0.05 * position + 0.1 * velocity > 0)

    return act


def mountain_car(env: Any) -> Rule:
    """Always push the way the car is moving: each swing gains energy."""
    return lambda observation: 2 if observation[1] >= 0 else 0


def mountain_car_continuous(env: Any) -> Rule:
    import numpy

    forward, backward = numpy.array([1.0], numpy.float32), numpy.array([-1.0], numpy.float32)
    return lambda observation: forward if observation[1] >= 0 else backward


def pendulum(env: Any) -> Rule:
    """Pump energy until it suffices to stand upright, then hold it there."""
    import numpy

    def act(observation: Any) -> Any:
        cosine, sine, spin = observation.tolist()
        angle = math.atan2(sine, cosine)
        if cosine > 0.8:
            torque = -12.0 * angle - 3.0 * spin
        else:
            # Energy per inertia relative to the upright position at rest: g 3/(2 l) = 15.
            missing = 15.0 * (1.0 - cosine) - 0.5 * spin * spin
            torque = math.copysign(2.0, spin * missing)
        return numpy.array([max(-2.0, min(2.0, torque))], numpy.float32)

    return act


def acrobot(env: Any) -> Rule:
    """Swing the lower link in step with the upper one."""
    return lambda observation: 2 if observation[4] < 0 else 0


def blackjack(env: Any) -> Rule:
    """Basic strategy without doubling and splitting."""

    def act(observation: Any) -> int:
        total, dealer, has_usable_ace = (int(part) for part in observation)
        is_dealer_strong = dealer == 1 or dealer >= 7
        if has_usable_ace:
            return int(total <= 17 or (total == 18 and (dealer == 1 or dealer >= 9)))
        if total == 12:
            return int(is_dealer_strong or dealer in (2, 3))
        return int(total < 12 or (total < 17 and is_dealer_strong))

    return act


def lunar_lander(env: Any) -> Rule:
    """Sink slower the lower it is, and lean so as to drift back over the pad."""
    if type(env.action_space).__name__ == "Discrete":
        return _choose_engine
    import numpy

    # [main engine, side engines]: below zero the main one is off, beyond a half a side one fires.
    thrusts = numpy.array([[-1, 0], [-1, -1], [1, 0], [-1, 1]], numpy.float32)
    return lambda observation: thrusts[_choose_engine(observation)]


def _choose_engine(observation: Any) -> int:
    x, y, drift, climb, angle, spin, left_leg, right_leg = observation.tolist()
    is_too_fast = climb < -0.08 - 0.86 * max(y, 0.0)
    if left_leg or right_leg:
        return 2 if climb < -0.08 else 0
    wanted_angle = max(-0.28, min(0.28, 0.95 * x + 1.1 * drift))
    wanted_turn = 2.3 * (wanted_angle - angle) - spin
    if abs(wanted_turn) > (0.26 if is_too_fast else 0.13):
        return 1 if wanted_turn > 0 else 3
    return 2 if is_too_fast else 0


def plan_with_model(env: Any) -> Rule:
    """Value iteration on the transition table that the toy-text environments publish."""
    model = env.unwrapped.P
    values = dict.fromkeys(model, 0.0)

    def worth(outcomes: Any) -> float:
        return sum(
            float(probability)
            * (float(reward) + (0.0 if is_end else _DISCOUNT * values[int(state)]))
            for probability, state, reward, is_end in outcomes
        )

    change = 1.0
    while change > 1e-6:
        change = 0.0
        for state, actions in model.items():
            best = max(worth(outcomes) for outcomes in actions.values())
            change = max(change, abs(best - values[state]))
            values[state] = best
    plan = {}
    for state, actions in model.items():
        worths = {action: worth(outcomes) for action, outcomes in actions.items()}
        plan[state] = max(worths, key=worths.__getitem__)
    return lambda observation: plan[int(observation)]


# By the environment's name without its version.
HEURISTICS: dict[str, Callable[[Any], Rule]] = {
    "Acrobot": acrobot,
    "Blackjack": blackjack,
    "CartPole": cart_pole,
    "CliffWalking": plan_with_model,
    "CliffWalkingSlippery": plan_with_model,
    "FrozenLake": plan_with_model,
    "FrozenLake8x8": plan_with_model,
    "LunarLander": lunar_lander,
    "LunarLanderContinuous": lunar_lander,
    "MountainCar": mountain_car,
    "MountainCarContinuous": mountain_car_continuous,
    "Pendulum": pendulum,
    "Taxi": plan_with_model,
}


# Where action 0 does something, this is the one that does nothing.
_IDLE_ACTIONS = {"MountainCar": 1, "Acrobot": 1}


class Policy(Protocol):
    def begin_episode(self, seed: int) -> None: ...
    def act(self, observation: Any) -> Any: ...


class RandomPolicy:
    """Samples the action space, seeded per episode so that each episode can be repeated."""

    def __init__(self, env: Any) -> None:
        self._space = env.action_space
        self.begin_episode = self._space.seed

    def act(self, observation: Any) -> Any:
        return self._space.sample()


class FixedRule:
    """The same function of the observation in every episode."""

    def __init__(self, act: Callable[[Any], Any]) -> None:
        self.act = act

    def begin_episode(self, seed: int) -> None:
        """Nothing to forget between episodes."""


def make_policy(name: str, env: Any, env_id: str) -> Policy:
    if name == "random":
        return RandomPolicy(env)
    if name == "noop":
        idle = idle_action(env.action_space, env_id)
        return FixedRule(lambda observation: idle)
    check_policy(name, env_id)
    return FixedRule(HEURISTICS[base_name(env_id)](env))


def check_policy(name: str, env_id: str) -> None:
    if name == "heuristic" and base_name(env_id) not in HEURISTICS:
        known = ", ".join(sorted(HEURISTICS))
        raise ConfigError(
            f"Invalid BaselineConfig: 'policy': there is no heuristic for {env_id}",
            hint=f"there is one for {known}; 'random' and 'noop' work everywhere",
            field="policy",
        )


def idle_action(space: Any, env_id: str) -> Any:
    """The action closest to doing nothing, whatever the kind of action space."""
    import numpy

    kind = type(space).__name__
    if kind == "Discrete":
        return _IDLE_ACTIONS.get(base_name(env_id), int(space.start))
    if kind == "Box":
        return numpy.clip(numpy.zeros(space.shape, space.dtype), space.low, space.high)
    if kind in ("MultiDiscrete", "MultiBinary"):
        return numpy.zeros(space.shape, space.dtype)
    if kind == "Dict":
        return {key: idle_action(part, "") for key, part in space.spaces.items()}
    if kind == "Tuple":
        return tuple(idle_action(part, "") for part in space.spaces)
    raise ConfigError(
        f"Invalid BaselineConfig: 'policy': there is no idle action in a {kind} space",
        hint="use policy=random",
        field="policy",
    )
