"""What files may say about an environment, and that a resumed training keeps to it."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from cleanrl_worker import resuming
from cleanrl_worker.kit.checkpoints.loading import refuse_foreign_arguments, refuse_foreign_module
from cleanrl_worker.launcher import default_arguments
from cleanrl_worker.registry import find_algorithm
from mosaic.errors import ConfigError
from mosaic.worker.config import config_to_dict

PATH = Path("model.cleanrl_model")


def test_ids_and_plain_arguments_are_taken() -> None:
    refuse_foreign_module("ALE/Pong-v5", PATH)
    refuse_foreign_arguments({"gravity": 9.8, "map_name": "4x4", "sizes": [1, 2]}, PATH)


@pytest.mark.parametrize("env_id", ["this:CartPole-v1", "a b:E-v0", ":E-v0"])
def test_a_module_is_refused(env_id: str) -> None:
    with pytest.raises(ConfigError, match="not imported because a file says so"):
        refuse_foreign_module(env_id, PATH)


@pytest.mark.parametrize(
    "kwargs", [{"xml_file": "ant.xml"}, {"x": "/etc/passwd"}, {"render_mode": "human"}]
)
def test_an_argument_that_is_not_plain_is_refused(kwargs: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match="neither a number nor a plain word"):
        refuse_foreign_arguments(kwargs, PATH)


class Checkpoint:
    step = 10

    def __init__(self, **arguments: Any) -> None:
        algorithm = find_algorithm("ppo")
        known = config_to_dict(replace(default_arguments(algorithm), **arguments))
        self.description = {"algorithm": "ppo", "arguments": known}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"env_id": "this:CartPole-v1"}, {"env_id": "this:CartPole-v1"}),
        ({"env_kwargs": {"xml_file": "/x"}}, {"env_kwargs": {"xml_file": "/y"}}),
    ],
)
def test_a_checkpoint_is_resumed_with_what_a_person_says(
    monkeypatch: pytest.MonkeyPatch, arguments: dict[str, Any], said: dict[str, Any]
) -> None:
    monkeypatch.setattr(resuming, "load_checkpoint", lambda path: Checkpoint(**arguments))
    monkeypatch.setattr(resuming, "lineage_of", lambda checkpoint: {})
    with pytest.raises(ConfigError, match="a file beside"):
        resuming.resume_from(PATH, {})
    resumed = resuming.resume_from(PATH, said)
    assert resumed.arguments.env_id == arguments.get("env_id", "CartPole-v1")
