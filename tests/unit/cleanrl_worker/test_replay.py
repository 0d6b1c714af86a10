"""The replay maker: what it needs, and what it says about recordings it cannot use."""

from __future__ import annotations

import importlib
import sys
from typing import Any

import numpy as np
import pytest

from baseline_worker import get_worker_metadata as baseline_metadata
from cleanrl_worker import get_worker_metadata
from cleanrl_worker.environments import denormals
from cleanrl_worker.environments.batch import slot_states
from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.environments.processes.messages import pack, unpack
from cleanrl_worker.replay import make_environment
from mosaic.contracts.replay import EpisodeStart
from mosaic.errors import ConfigError, WorkerError

CART_POLE: dict[str, Any] = {"env_id": "CartPole-v1", "vectorization": "native"}


@pytest.mark.parametrize("metadata", [get_worker_metadata(), baseline_metadata()])
def test_the_announced_maker_exists(metadata: Any) -> None:
    module, _, name = metadata.replay_maker.partition(":")
    assert callable(getattr(importlib.import_module(module), name))


@pytest.mark.parametrize("state", [b"", b"nonsense", pack({}), pack({"states": []}), pack([1])])
def test_a_state_that_is_none_is_refused(state: bytes) -> None:
    env = make_environment(CART_POLE)
    with pytest.raises(WorkerError):
        env.begin(EpisodeStart({}, state, []))
    env.close()


def test_a_state_that_does_not_come_back_is_refused() -> None:
    batch = make_env_batch("FrozenLake-v1", 1)
    batch.reset(1)
    batch.step(np.array([1]))
    (state,) = slot_states(batch.state_dict())
    state["environments"][0]["return"] = 17.0  # another version would give other rewards
    env = make_environment({"env_id": "FrozenLake-v1"})
    with pytest.raises(WorkerError, match="did not come back"):
        env.begin(EpisodeStart({}, pack(state), []))
    env.close()
    batch.close()


@pytest.mark.parametrize("settings", [{}, {"env_id": "CartPole-v1", "extras": {}}])
def test_settings_of_something_else_are_refused(settings: dict[str, Any]) -> None:
    with pytest.raises(WorkerError, match="settings of a recording"):
        make_environment(settings)


def test_an_unknown_environment_is_refused() -> None:
    with pytest.raises(ConfigError, match="CartPoel"):
        make_environment({"env_id": "CartPoel-v1"})


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of Linux")
def test_tiny_numbers_count_as_in_the_training_until_it_is_closed() -> None:
    before = denormals.are_flushed()
    env = make_environment({**CART_POLE, "flushes_denormals": not before})
    env.begin(EpisodeStart({"seed": 1}, b"", []))
    assert denormals.are_flushed() is not before
    assert (np.array([1e-310]) * np.array([1.0]) == 0.0).item() is not before
    env.close()
    assert denormals.are_flushed() is before


@pytest.mark.parametrize("vectorization", ["native", "loop"])
def test_one_slot_of_many_goes_on_alone(vectorization: str) -> None:
    batch = make_env_batch("CartPole-v1", 3, vectorization=vectorization)
    alone = make_env_batch("CartPole-v1", 1, vectorization=vectorization)
    batch.reset(1)
    alone.reset(0)
    actions = np.random.default_rng(0).integers(2, size=(60, 3))
    for row in actions[:20]:
        batch.step(row)
    alone.load_state_dict(unpack(pack(slot_states(batch.state_dict())[1])))
    for row in actions[20:]:
        np.testing.assert_array_equal(
            batch.step(row).observations[1], alone.step(row[1:2]).observations[0]
        )
    batch.close()
    alone.close()
