"""NormalizingBatch: observations and rewards brought to unit scale by running statistics."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import sqrt
from typing import Any

import numpy as np
from gymnasium import spaces

from cleanrl_worker.environments.batch import Array, EnvBatch, Step
from mosaic.errors import WorkerError

_EPSILON = 1e-8
_LIMIT = 10.0
# Statistics start as if they had seen a ten-thousandth of a value, with mean 0 and variance 1.
_FIRST_COUNT = 1e-4


class ObservationScale:
    """Mean and variance of all observations so far, each step adding one per environment.

    Arithmetic is in place and the calls are few, because this lies on the path of every step.
    """

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.mean = np.zeros(shape)
        self.var = np.ones(shape)
        self.count = _FIRST_COUNT

    def update(self, batch: Array) -> None:
        size = len(batch)
        total = self.count + size
        # Sums and squares about the old mean; the squares then move to the new one.
        if size == 1:
            shift = batch[0] - self.mean
            squares = shift * shift
        else:
            deviations = batch - self.mean
            shift = np.add.reduce(deviations)
            deviations *= deviations
            squares = np.add.reduce(deviations)
        squares /= total
        shift /= total
        self.var *= self.count / total
        self.var += squares
        self.var -= shift * shift
        self.mean += shift
        self.count = total

    def __call__(self, observations: Array) -> Array:
        if observations.ndim > self.mean.ndim and len(observations) == 1:
            # Arrays of equal shape spare numpy the broadcasting, which costs more than the sums.
            return self(observations[0])[np.newaxis]
        scaled = observations - self.mean
        scaled /= np.sqrt(self.var + _EPSILON)
        np.maximum(scaled, -_LIMIT, out=scaled)
        np.minimum(scaled, _LIMIT, out=scaled)
        return scaled.astype(np.float32)

    def state_dict(self) -> dict[str, Any]:
        return {"mean": self.mean.copy(), "var": self.var.copy(), "count": self.count}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.mean[...] = state["mean"]
        self.var[...] = state["var"]
        self.count = float(state["count"])


class RewardScale:
    """Mean and variance of the discounted returns so far, which start anew with each episode.

    Plain floats: there are only as many numbers as environments.
    """

    def __init__(self, num_envs: int, gamma: float) -> None:
        self._gamma = gamma
        self._returns = [0.0] * num_envs
        self.mean = 0.0
        self.var = 1.0
        self.count = _FIRST_COUNT

    def __call__(self, rewards: Array) -> Array:
        gamma, values = self._gamma, rewards.tolist()
        self._returns = returns = [
            total * gamma + reward for total, reward in zip(self._returns, values, strict=True)
        ]
        size = len(returns)
        count = self.count + size
        centre = sum(returns) / size
        delta = centre - self.mean
        spread = sum([(value - centre) ** 2 for value in returns])
        self.var = (spread + self.var * self.count + delta**2 * self.count * size / count) / count
        self.mean += delta * size / count
        self.count = count
        scale = 1 / sqrt(self.var + _EPSILON)
        return np.array(
            [min(max(reward * scale, -_LIMIT), _LIMIT) for reward in values], dtype=np.float32
        )

    def forget(self, index: int) -> None:
        """An episode ended there."""
        self._returns[index] = 0.0

    def state_dict(self) -> dict[str, Any]:
        return {
            "mean": self.mean,
            "var": self.var,
            "count": self.count,
            "returns": list(self._returns),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.mean, self.var = float(state["mean"]), float(state["var"])
        self.count = float(state["count"])
        self._returns = [float(value) for value in state["returns"]]


class NormalizingBatch(EnvBatch):
    """Wraps a batch: what an algorithm sees is normalised and clipped to +-10.

    Rewards are divided by the deviation of the discounted return. Episodes stay raw, so that
    curves compare. The last observation of an episode is normalised but does not count.
    """

    def __init__(self, envs: EnvBatch, *, observations: bool, rewards: bool, gamma: float) -> None:
        shape = envs.observation_space.shape or ()
        self.num_envs = envs.num_envs
        self.action_space = envs.action_space
        self.vectorization = envs.vectorization
        self.exactness = envs.exactness
        self.observation_space = envs.observation_space
        if observations:
            self.observation_space = spaces.Box(-_LIMIT, _LIMIT, shape, np.float32)
        self._envs = envs
        self._observation_scale = ObservationScale(shape) if observations else None
        self._reward_scale = RewardScale(envs.num_envs, gamma) if rewards else None

    def reset(self, seed: int) -> Array:
        observations = self._envs.reset(seed)
        for index in range(self.num_envs):
            if self._reward_scale is not None:
                self._reward_scale.forget(index)
        scale = self._observation_scale
        if scale is not None:
            scale.update(observations)
            observations = scale(observations)
        self.observations = observations
        return observations

    def step(self, actions: Array) -> Step:
        observations, rewards, terminated, truncated, finals, episodes = self._envs.step(actions)
        scale, reward_scale = self._observation_scale, self._reward_scale
        if reward_scale is not None:
            rewards = reward_scale(rewards)
            for index in finals:
                reward_scale.forget(index)
        if scale is not None:
            scale.update(observations)
            observations = scale(observations)
            if finals:
                finals = {index: scale(final) for index, final in finals.items()}
        self.observations = observations
        return Step(observations, rewards, terminated, truncated, finals, episodes)

    def statistics(self) -> dict[str, Any]:
        """Mean, var and count of `observations` and `rewards`, where they are normalised."""
        scales = {"observations": self._observation_scale, "rewards": self._reward_scale}
        return {name: scale.state_dict() for name, scale in scales.items() if scale is not None}

    def state_dict(self) -> dict[str, Any]:
        return {
            "envs": self._envs.state_dict(),
            "statistics": self.statistics(),
        }

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._envs.load_state_dict(state["envs"])
        self.exactness = self._envs.exactness
        statistics = state["statistics"]
        if self._observation_scale is not None:
            self._observation_scale.load_state_dict(statistics["observations"])
        if self._reward_scale is not None:
            self._reward_scale.load_state_dict(statistics["rewards"])
        self.observations = self._envs.observations
        if self._observation_scale is not None:
            self.observations = self._observation_scale(self.observations)

    def adopt_scales(self, state: Mapping[str, Any]) -> None:
        """Those of another training, whose `state` this is; its episodes are not taken over."""
        statistics = state.get("statistics") or {}
        if self._observation_scale is not None and "observations" in statistics:
            self._observation_scale.load_state_dict(statistics["observations"])
            self.observations = self._observation_scale(self._envs.observations)
        if self._reward_scale is not None and "rewards" in statistics:
            begun = [0.0] * self.num_envs
            self._reward_scale.load_state_dict({**statistics["rewards"], "returns": begun})

    def render(self, index: int) -> Array:
        return self._envs.render(index)

    def close(self) -> None:
        self._envs.close()


def frozen_normalizer(state: Mapping[str, Any]) -> Callable[[Array], Array]:
    """Normalises observations as at the end of a training; `state` is that of NormalizingBatch.

    Raises WorkerError when it holds no statistics of observations.
    """
    saved = state.get("statistics", {}).get("observations")
    if saved is None:
        raise WorkerError(
            "The checkpoint holds no statistics to normalise observations with",
            hint="it was saved by a training that did not normalise them",
        )
    scale = ObservationScale(np.shape(saved["mean"]))
    scale.load_state_dict(saved)
    return scale
