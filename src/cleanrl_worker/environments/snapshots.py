"""Snapshots of environments: taken in one process, put back in another, bit for bit."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from numpy.typing import NDArray

from cleanrl_worker.environments.batch import EXACT, UP_TO_RESET, Array

# What putting a state back may raise when it is of another environment, or made up.
UNFITTING_STATE_ERRORS = (LookupError, TypeError, ValueError, OverflowError, AttributeError)
LONGEST_REPLAY = 100_000  # steps; beyond, a checkpoint would take too long to load
# What the tasks draw at a reset and keep outside the engine: Reacher's and Pusher's places.
_DRAWN = ("goal", "goal_pos", "cylinder_pos")
# Its random numbers are written as text: the length of a state may vary by this much.
_RANDOM_DIGITS = 10_000
_BOX2D = "gymnasium.envs.box2d."


class Snapshots(ABC):
    """One per environment; a batch tells it of every reset and every action."""

    exactness: str = EXACT

    @abstractmethod
    def before_reset(self, seed: int | None) -> None: ...

    @abstractmethod
    def take(self) -> dict[str, Any]:
        """Arrays and JSON values only."""

    @abstractmethod
    def put_back(self, saved: Mapping[str, Any], observation: Array, total_reward: float) -> bool:
        """Continue where `saved` was taken, when the last observation and the return were these.

        False when it cannot be done; the environment must then be reset.
        """


class DirectSnapshots(Snapshots):
    """For environments whose whole state can be read and written."""

    method: ClassVar[str]

    def __init__(self, env: Any) -> None:
        self._env = env

    def before_reset(self, seed: int | None) -> None:
        pass

    def take(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "random": random_state(self._env),
            "wrapper": self._env.snapshot_state(),
            "core": self._take_core(),
        }

    def put_back(self, saved: Mapping[str, Any], observation: Array, total_reward: float) -> bool:
        if saved.get("method") != self.method:
            return False
        try:
            self._put_core_back(saved["core"])
            self._env.restore_state(saved["wrapper"])
            set_random_state(self._env, saved["random"])
        except UNFITTING_STATE_ERRORS:
            return False
        return True

    @abstractmethod
    def _take_core(self) -> dict[str, Any]: ...

    @abstractmethod
    def _put_core_back(self, core: Mapping[str, Any]) -> None:
        """Raises one of UNFITTING_STATE_ERRORS when it is not of this environment."""


class ReplaySnapshots(Snapshots):
    """For every environment that draws all its randomness from `np_random`.

    Worlds that cannot be copied (Box2D) or whose objects have no plain form (MiniGrid) come back
    exactly. Whether they did is checked: observation, return and random numbers must agree.
    """

    def __init__(self, env: Any) -> None:
        self._env = env
        self._beginning: dict[str, Any] = {}
        self.actions: deque[Any] = deque(maxlen=LONGEST_REPLAY + 1)
        is_random = env.spec is not None and env.spec.nondeterministic
        self.exactness = UP_TO_RESET if is_random else EXACT

    def before_reset(self, seed: int | None) -> None:
        self.actions.clear()
        if seed is None:
            self._beginning = {"random": random_state(self._env)}
        else:
            self._beginning = {"seed": seed}

    def take(self) -> dict[str, Any]:
        if len(self.actions) > LONGEST_REPLAY:
            return {"method": "none", "random": random_state(self._env)}
        return {
            "method": "replay",
            "beginning": self._beginning,
            "actions": _compact(self.actions, self._env.action_space),
            "random": random_state(self._env),
        }

    def put_back(self, saved: Mapping[str, Any], observation: Array, total_reward: float) -> bool:
        try:
            is_same = saved.get("method") == "replay" and self._replay(
                saved, observation, total_reward
            )
            if not is_same:  # the next episode is at least the one that would have come
                set_random_state(self._env, saved["random"])
        except UNFITTING_STATE_ERRORS:
            return False
        return is_same

    def _replay(self, saved: Mapping[str, Any], observation: Array, total_reward: float) -> bool:
        env, beginning = self._env, saved["beginning"]
        actions = saved["actions"]
        _require_actions(actions, env.action_space)
        seed = beginning.get("seed")
        if seed is None:
            set_random_state(env, beginning["random"])
        self.before_reset(seed)
        reached, _ = env.reset(seed=seed)
        total = 0.0
        is_over = False
        for action in actions.tolist() if actions.ndim == 1 else list(actions):
            if is_over:
                return False
            reached, reward, terminated, truncated, _ = env.step(action)
            self.actions.append(action)
            total += float(reward)
            is_over = terminated or truncated
        return (
            not is_over
            and total == total_reward
            and np.array_equal(reached, observation)
            and random_state(env) == saved["random"]
        )


def _require_actions(actions: Any, space: spaces.Space[Any]) -> None:
    """Raises ValueError for what no training did; engines do not look at their actions."""
    if not isinstance(actions, np.ndarray) or not 0 < actions.ndim <= 1 + len(space.shape or ()):
        raise ValueError("no actions")
    is_fitting = len(actions) <= LONGEST_REPLAY and actions.shape[1:] == (space.shape or ())
    if isinstance(space, spaces.Discrete):
        first = int(space.start)
        is_fitting = is_fitting and actions.dtype.kind in "iu"
        is_fitting = is_fitting and bool(np.all((actions >= first) & (actions < first + space.n)))
    elif actions.dtype.kind == "f":
        is_fitting = is_fitting and bool(np.isfinite(actions).all())
    else:
        is_fitting = is_fitting and actions.dtype.kind in "iub"
    if not is_fitting:
        raise ValueError("not actions of this environment")


def _compact(actions: deque[Any], space: spaces.Space[Any]) -> Array:
    if isinstance(space, spaces.Discrete):
        return np.array(actions, dtype=np.min_scalar_type(int(space.n) - 1))
    return np.array(actions, dtype=space.dtype).reshape(len(actions), *(space.shape or ()))


class Box2DSnapshots(ReplaySnapshots):
    """BipedalWalker and CarRacing empty their world at a reset and fill it again. What Box2D keeps
    of the old bodies changes the order in which it solves contacts, so that an episode depended on
    all those before it. In a new world it depends on its beginning and its actions only;
    LunarLander already does so itself.
    """

    def before_reset(self, seed: int | None) -> None:
        task = self._env.unwrapped
        task._destroy()
        task.world = type(task.world)(gravity=task.world.gravity)
        super().before_reset(seed)


class MujocoSnapshots(DirectSnapshots):
    """The engine computes positions of bodies before it moves the joints, and tasks read them
    after. They lag a step behind and would be lost if only the joints were kept.
    """

    method = "mujoco"

    def _take_core(self) -> dict[str, Any]:
        import mujoco

        task = self._env.unwrapped
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        state = np.empty(mujoco.mj_stateSize(task.model, kind))
        mujoco.mj_getState(task.model, task.data, state, kind)
        derived = {name: array.copy() for name, array in _arrays(task.data).items()}
        drawn = {name: np.array(getattr(task, name)) for name in _DRAWN if hasattr(task, name)}
        return {"state": state, "derived": derived, "drawn": drawn}

    def _put_core_back(self, core: Mapping[str, Any]) -> None:
        import mujoco

        task = self._env.unwrapped
        kind = mujoco.mjtState.mjSTATE_INTEGRATION
        size = mujoco.mj_stateSize(task.model, kind)
        state = _numbers(core["state"], (size,)).astype(np.float64)
        drawn = {
            name: _numbers(value, np.asarray(getattr(task, name, ())).shape)
            for name, value in core["drawn"].items()
            if name in _DRAWN
        }
        mujoco.mj_resetData(task.model, task.data)
        mujoco.mj_setState(task.model, task.data, state, kind)
        for name, array in _arrays(task.data).items():
            saved = core["derived"].get(name)
            if saved is not None and np.shape(saved) == array.shape:
                array[...] = _numbers(saved, array.shape)
        for name, value in drawn.items():
            setattr(task, name, value)


def _numbers(saved: Any, shape: tuple[int, ...]) -> NDArray[Any]:
    """A copy. Raises ValueError for anything but an array of numbers of this shape."""
    if not isinstance(saved, np.ndarray) or saved.dtype.kind not in "fiu" or saved.shape != shape:
        raise ValueError("not a state of this model")
    return saved.copy()


def _arrays(data: Any) -> dict[str, Any]:
    """The engine's arrays whose size the model fixes; lists of contacts change with each step."""
    found = {name: getattr(data, name) for name in _names(type(data))}
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, np.ndarray) and value.dtype == np.float64 and value.size
    }


def _names(kind: type) -> list[str]:
    changing = ("_", "efc_", "iefc_", "ifrc", "contact")
    return [
        name
        for name in dir(kind)
        if not name.startswith(changing) and isinstance(getattr(kind, name), property)
    ]


class AtariSnapshots(DirectSnapshots):
    """The state of the emulator, its random numbers included, as bytes."""

    method = "atari"

    def _take_core(self) -> dict[str, Any]:
        emulator = self._env.unwrapped.ale
        state = emulator.cloneState(include_rng=True).serialize()
        return {"emulator": np.frombuffer(state, dtype=np.uint8)}

    def _put_core_back(self, core: Mapping[str, Any]) -> None:
        import ale_py

        emulator = self._env.unwrapped.ale
        saved = core["emulator"]
        usual = len(emulator.cloneState(include_rng=True).serialize())
        is_state = isinstance(saved, np.ndarray) and saved.dtype == np.uint8 and saved.ndim == 1
        if not is_state or abs(len(saved) - usual) > _RANDOM_DIGITS:
            raise ValueError("not a state of this game")
        try:
            emulator.restoreState(ale_py.ALEState(saved.tobytes()))
        except (RuntimeError, SystemError, MemoryError) as error:  # as its C++ exceptions arrive
            raise ValueError("not a state of this game") from error


_DIRECT = {"gymnasium.envs.mujoco.": MujocoSnapshots, "ale_py.": AtariSnapshots}


def snapshots_of(env: Any) -> Snapshots:
    """Directly where the whole state can be read, by replaying the episode elsewhere.

    A wrapper we do not know may keep a state of its own, so that only a replay finds it.
    """
    core = env.unwrapped
    origin = type(core).__module__
    has_one_wrapper = getattr(env, "env", None) is core and hasattr(env, "snapshot_state")
    if has_one_wrapper:
        for prefix, kind in _DIRECT.items():
            if origin.startswith(prefix):
                return kind(env)
    return Box2DSnapshots(env) if origin.startswith(_BOX2D) else ReplaySnapshots(env)


def random_state(env: Any) -> dict[str, Any]:
    """The state of `np_random`: a Generator, or a RandomState as DM Control has it."""
    random = env.unwrapped.np_random
    if isinstance(random, np.random.RandomState):
        return _plain(random.get_state(legacy=False))
    return _plain(random.bit_generator.state)


def set_random_state(env: Any, state: Mapping[str, Any]) -> None:
    """In place, because some environments hand their generator on to their parts.

    Raises ValueError, TypeError, OverflowError or KeyError when the state is of another kind of
    generator.
    """
    _require_places(state)
    random = env.unwrapped.np_random
    if isinstance(random, np.random.RandomState):
        random.set_state(dict(state))
    else:
        random.bit_generator.state = dict(state)


def _require_places(state: Mapping[str, Any]) -> None:
    """numpy itself goes wherever these places say, also beyond the numbers it has."""
    inner = state["state"]
    for place, numbers in (
        (inner.get("pos", 0), inner.get("key", ())),
        (state.get("buffer_pos", 0), state.get("buffer", ())),
    ):
        if not isinstance(place, int) or not 0 <= place <= len(numbers):
            raise ValueError("not a state of random numbers")


def _plain(state: Any) -> dict[str, Any]:
    return {
        name: _plain(value)
        if isinstance(value, Mapping)
        else value.tolist()
        if isinstance(value, np.ndarray)
        else value
        for name, value in state.items()
    }
