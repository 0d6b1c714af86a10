"""Snapshots: how the state of one environment is taken and put back."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from cleanrl_worker.environments.batch import EXACT, Array
from cleanrl_worker.environments.snapshots.random_state import random_state, set_random_state

# What a state may raise that is of another environment, or that somebody made up.
MISFITS = (LookupError, TypeError, ValueError, OverflowError, AttributeError)


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
        """Go on where `saved` was taken, when the last observation and the return were these.

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
        except MISFITS:
            return False
        return True

    @abstractmethod
    def _take_core(self) -> dict[str, Any]: ...

    @abstractmethod
    def _put_core_back(self, core: Mapping[str, Any]) -> None:
        """Raises one of MISFITS when it is not of this environment."""
