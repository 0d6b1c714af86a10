"""What the replay of a watched script makes of what its recording says."""

from __future__ import annotations

import importlib
import sys
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("gymnasium")

from mosaic.contracts.replay import EpisodeStart
from mosaic.errors import WorkerError
from mosaic.injection.replay import ScriptReplay, make_environment

CARTPOLE: dict[str, Any] = {
    "env_id": "CartPole-v1",
    "kwargs": {},
    "max_episode_steps": 10,
    "entry_point": "",
}


def test_an_environment_that_is_known_here_needs_no_entry_point() -> None:
    made = make_environment(CARTPOLE)
    assert len(made.begin(EpisodeStart({"seed": 1}, b"", ()))) == 4
    made.close()


@pytest.mark.parametrize("package", ["", "gymnasium", "not_installed_here"])
def test_one_that_is_not_is_refused_without_a_function_to_call(package: str) -> None:
    with pytest.raises(WorkerError, match="not an environment of this installation"):
        make_environment({**CARTPOLE, "env_id": "Unheard-v0", "entry_point": package})
    assert "Unheard-v0" not in sys.modules["gymnasium"].registry


@pytest.mark.parametrize("name", ["test", "__loader__", "seed", 5, None])
def test_a_recorded_random_state_calls_nothing_but_a_generator(
    monkeypatch: pytest.MonkeyPatch, name: Any
) -> None:
    """`numpy.random.test()`, for example, runs a whole test suite."""
    called: list[str] = []
    random = SimpleNamespace(test=lambda: called.append("test"), seed=lambda: called.append("seed"))
    monkeypatch.setattr(importlib, "import_module", lambda module: random)
    core = SimpleNamespace(np_random=None)
    env = SimpleNamespace(unwrapped=core, reset=lambda **given: (0, {}))
    with pytest.raises(WorkerError, match="random numbers cannot be used"):
        ScriptReplay(env).begin(EpisodeStart({"random_state": {"bit_generator": name}}, b"", ()))
    assert not called
