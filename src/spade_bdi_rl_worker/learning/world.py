"""World: an environment of Gymnasium, seen as states and actions that can be counted."""

from __future__ import annotations

import difflib
import math
from collections.abc import Mapping
from typing import Any

import gymnasium
import numpy as np
from gymnasium import spaces

from spade_bdi_rl_worker.learning.errors import WorldError
from spade_bdi_rl_worker.learning.known_worlds import (
    action_names,
    grid_of,
    kind_of,
    room_about,
    room_content,
    state_namer,
)
from spade_bdi_rl_worker.learning.maps import RANDOM_MAP, lake_arguments
from spade_bdi_rl_worker.learning.observing import (
    CountedStates,
    MetStates,
    StateReader,
    binned,
    raw_bytes,
)
from spade_bdi_rl_worker.learning.transitions import is_true, read_table

LONGEST_REPLAY = 100_000  # steps of an episode that a snapshot can bring back
_MOST_ACTIONS = 10_000
_MOST_PAIRS = 20_000_000  # of states and actions: a table has up to seven arrays of them
_MOST_STEPS = 10**9
# Families that are registered when their package is imported.
_PACKAGES = {"MiniGrid-": "minigrid", "BabyAI-": "minigrid"}
# What making an environment from arguments that do not fit it may raise.
_UNFITTING = (TypeError, ValueError, LookupError, AttributeError, AssertionError, ArithmeticError)
_UNUSABLE_SPACES = (spaces.Graph, spaces.Sequence, spaces.OneOf)


class World:
    """Made by `World.make`. One episode at a time: `seed`, then `reset` and `step`."""

    def __init__(self, env: Any, env_id: str, env_kwargs: Mapping[str, Any], bins: Any) -> None:
        """`env_kwargs` as they have to be given again to get the same world."""
        self.env = env
        self.env_id, self.env_kwargs, self.bins = env_id, dict(env_kwargs), bins
        core = env.unwrapped
        self.n_actions, self._first_action = _count_actions(env)
        self._states = _state_reader(env, bins)
        _refuse_large(self._states.size, self.n_actions)
        self.action_names = action_names(core, self.n_actions)
        self.limit = _time_limit(env)
        self.table = None
        env.reset(seed=0)
        if isinstance(self._states, CountedStates) and not self._first_action:
            table = read_table(core, self.limit)
            if table is not None and table.n_states == self._states.size and is_true(table, env):
                self.table = table
        self.grid = grid_of(core, self._states)
        self.state_name = state_namer(core, self._states, self.grid)
        self._beginning: dict[str, Any] = {}
        self._actions: list[int] = []

    @classmethod
    def make(
        cls, env_id: str, env_kwargs: Mapping[str, Any] | None = None, *, bins: Any = None
    ) -> World:
        """Raises WorldError. Besides the environment's own arguments: `random_map` of FrozenLake,
        {"size": 8, "frozen": 0.8, "seed": 1}.
        """
        arguments = dict(env_kwargs or {})
        _refuse_unknown(env_id)
        _check_arguments(arguments)
        is_lake = "frozen_lake:" in str(gymnasium.spec(env_id).entry_point)
        if is_lake:
            arguments = lake_arguments(arguments)
        elif RANDOM_MAP in arguments:
            raise WorldError(
                f"'env_kwargs' ask for a random map; {env_id} has none",
                hint="only FrozenLake has random maps",
                field="env_kwargs",
            )
        env = _make(env_id, arguments)
        try:
            return cls(env, env_id, arguments, bins)
        except BaseException:
            env.close()
            raise

    @property
    def n_states(self) -> int:
        """So far, for a world whose states are numbered as they are met."""
        return self._states.size

    @property
    def grows(self) -> bool:
        return self._states.grows

    @property
    def random(self) -> np.random.Generator:
        """What the environment draws from."""
        generator: np.random.Generator = self.env.unwrapped.np_random
        return generator

    def describe(self) -> dict[str, Any]:
        """What makes it again, as JSON values."""
        return {"env_id": self.env_id, "env_kwargs": self.env_kwargs, "bins": self.bins}

    def seed(self, seed: int) -> None:
        self.env.reset(seed=seed)

    def reset(self) -> int:
        if self.table is None:  # elsewhere state and elapsed steps are all there is
            self._beginning = _random_state(self.random)
            self._actions = []
        observation, _ = self.env.reset()
        return self._states.read(observation)

    def step(self, action: int) -> tuple[float, int, bool, bool]:
        """Reward, next state, terminated, truncated."""
        if self.table is None and len(self._actions) <= LONGEST_REPLAY:
            self._actions.append(action)
        observation, reward, terminated, truncated, _ = self.env.step(action + self._first_action)
        return float(reward), self._states.read(observation), bool(terminated), bool(truncated)

    def place(self, state: int, elapsed: int) -> None:
        """Put the environment there, where it has a table: somebody played by that."""
        env = self.env
        env.unwrapped.s = state
        while env is not env.unwrapped:
            if hasattr(env, "_elapsed_steps"):
                env._elapsed_steps = elapsed
            env = env.env

    def state_dict(self, in_episode: bool) -> dict[str, Any]:
        """Random numbers, states that were met, and how the present episode came about."""
        saved = {"random": _random_state(self.random), "states": self._states.state_dict()}
        if in_episode and self.table is None and len(self._actions) <= LONGEST_REPLAY:
            actions = np.array(self._actions, dtype=np.int64)
            saved["replay"] = {"beginning": self._beginning, "actions": actions}
        return saved

    def load_state_dict(self, saved: Mapping[str, Any], state: int | None) -> bool:
        """`state`: where the saved episode was, if one was under way. False when it could not be
        brought back: a new one is to begin. Raises ValueError or LookupError when it is of
        another world.
        """
        self._states.load_state_dict(saved["states"])
        is_back = True
        if state is not None and self.table is None:
            replay = saved.get("replay")
            is_back = replay is not None and self._replay(replay, state)
            is_back = is_back and _random_state(self.random) == saved["random"]
        _set_random_state(self.random, saved["random"])
        return is_back

    def _replay(self, replay: Mapping[str, Any], state: int) -> bool:
        actions = np.asarray(replay["actions"])
        is_fitting = actions.ndim == 1 and actions.dtype.kind == "i"
        if not is_fitting or ((actions < 0) | (actions >= self.n_actions)).any():
            raise ValueError("its episode has actions that there are not")
        _set_random_state(self.random, replay["beginning"])
        reached, is_over = self.reset(), False
        for action in actions.tolist():
            if is_over:
                return False
            _, reached, terminated, truncated = self.step(action)
            is_over = terminated or truncated
        return reached == state and not is_over

    def close(self) -> None:
        self.env.close()


def _refuse_unknown(env_id: Any) -> None:
    if not isinstance(env_id, str) or not env_id:
        raise WorldError(
            f"'env_id' is {env_id!r}; it has to be the name of an environment",
            hint="for example FrozenLake-v1",
            field="env_id",
        )
    if ":" in env_id:
        raise WorldError(
            f"'env_id': {env_id!r} names a module, which would be run",
            hint=f"leave out everything before {env_id.rpartition(':')[2]!r}",
            field="env_id",
        )
    for prefix, package in _PACKAGES.items():
        if env_id.startswith(prefix):
            try:
                __import__(package)
            except ImportError:
                raise WorldError(
                    f"'env_id': {env_id} needs the package {package}, which is not installed here",
                    hint=f"install {package} where this worker runs",
                    field="env_id",
                ) from None
    try:
        gymnasium.spec(env_id)
    except (gymnasium.error.Error, ValueError) as error:
        close = difflib.get_close_matches(env_id, list(gymnasium.registry), n=3, cutoff=0.6)
        raise WorldError(
            f"'env_id': there is no environment {env_id!r}",
            hint=f"did you mean {', '.join(close)}?" if close else "for example FrozenLake-v1",
            field="env_id",
        ) from error


def _check_arguments(arguments: Mapping[str, Any]) -> None:
    def complain(problem: str, hint: str) -> WorldError:
        return WorldError(f"'env_kwargs' {problem}", hint=hint, field="env_kwargs")

    for name, value in arguments.items():
        if not isinstance(name, str):
            raise complain(f"have the name {name!r}", "names are texts")
        if isinstance(value, float) and not math.isfinite(value):
            raise complain(f"give {name} the value {value}", "give it a finite number")
    limit = arguments.get("max_episode_steps")
    is_count = isinstance(limit, int) and not isinstance(limit, bool)
    if limit is not None and not (is_count and 1 <= limit <= _MOST_STEPS):
        raise complain(
            f"limit an episode to {limit!r} steps", f"a whole number from 1 to {_MOST_STEPS:,}"
        )


def _make(env_id: str, arguments: Mapping[str, Any]) -> Any:
    try:
        return gymnasium.make(env_id, disable_env_checker=True, **arguments)
    except gymnasium.error.DependencyNotInstalled as error:
        raise WorldError(
            f"'env_id': {env_id} needs a package that is not installed here: {error}",
            hint="install it where this worker runs",
            field="env_id",
        ) from error
    except (gymnasium.error.Error, ImportError, *_UNFITTING) as error:
        raise WorldError(
            f"'env_kwargs' do not fit {env_id}: {error}",
            hint="these are the keyword arguments of the environment",
            field="env_kwargs",
        ) from error


def _count_actions(env: Any) -> tuple[int, int]:
    """How many there are, and the first."""
    space = env.action_space
    if not isinstance(space, spaces.Discrete):
        kind = "continuous" if isinstance(space, spaces.Box) else type(space).__name__
        raise WorldError(
            f"'env_id': the actions of {env.spec.id} are {kind}; a table needs a list of actions",
            hint="choose an environment whose action space is Discrete",
            field="env_id",
        )
    if space.n > _MOST_ACTIONS:
        raise WorldError(
            f"'env_id': {env.spec.id} has {int(space.n):,} actions; a table can have "
            f"{_MOST_ACTIONS:,}",
            hint="choose an environment with fewer actions",
            field="env_id",
        )
    return int(space.n), int(space.start)


def _refuse_large(states: int, actions: int) -> None:
    if states * actions > _MOST_PAIRS:
        raise WorldError(
            f"'env_id': {states:,} states with {actions:,} actions each are {states * actions:,} "
            f"values; a table can have {_MOST_PAIRS:,}",
            hint="choose a smaller environment, or fewer bins",
            field="env_id",
        )


def _state_reader(env: Any, bins: Any) -> StateReader:
    space, core = env.observation_space, env.unwrapped
    if isinstance(space, _UNUSABLE_SPACES):
        raise WorldError(
            f"'env_id': the observations of {env.spec.id} are {type(space).__name__}; a table "
            "cannot number them",
            hint="choose an environment with discrete observations",
            field="env_id",
        )
    is_vector = isinstance(space, spaces.Box) and space.dtype is not None
    if is_vector and space.dtype.kind == "f" and int(np.prod(space.shape)) <= 64:
        return binned(space, bins, kind_of(core))
    if bins is not None:
        raise WorldError(
            f"'bins': the observations of {env.spec.id} are not put into bins",
            hint="leave bins out; they are for numbers with fractions",
            field="bins",
        )
    if kind_of(core) == "MiniGrid":
        return MetStates(lambda _: room_content(core), lambda: room_about(core))
    try:
        return CountedStates(space)
    except LookupError:
        return MetStates(raw_bytes, lambda: ("", None))


def _time_limit(env: Any) -> int | None:
    """Steps of an episode, by the wrapper that counts them."""
    limits = []
    while env is not env.unwrapped:
        if hasattr(env, "_max_episode_steps"):
            limits.append(int(env._max_episode_steps))
        env = env.env
    return min(limits, default=None)


def _random_state(random: np.random.Generator) -> dict[str, Any]:
    return dict(random.bit_generator.state)


def _set_random_state(random: np.random.Generator, saved: Mapping[str, Any]) -> None:
    """Raises ValueError or LookupError for the state of another generator.

    Only of the kind that Gymnasium uses: others hold positions that numpy follows unchecked.
    """
    if saved["bit_generator"] != "PCG64" or type(random.bit_generator) is not np.random.PCG64:
        raise ValueError("its random numbers are of another generator")
    try:
        random.bit_generator.state = dict(saved)  # type: ignore[assignment]
    except (TypeError, OverflowError) as error:
        raise ValueError(f"its random numbers cannot be read: {error}") from error
