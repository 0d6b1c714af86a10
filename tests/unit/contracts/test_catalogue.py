"""AlgorithmInfo travels as JSON, and newer workers may say more than we know."""

from __future__ import annotations

import json

import pytest

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.errors import ConfigError

INFO = AlgorithmInfo(
    name="ppo",
    worker="learner",
    summary="a policy gradient",
    action_spaces=("discrete",),
    observation_spaces=("vector", "image"),
    parameters={"gamma": {"type": "number", "default": 0.99, "minimum": 0}},
)


def test_survives_json() -> None:
    assert AlgorithmInfo.from_dict(json.loads(json.dumps(INFO.to_dict()))) == INFO


def test_unknown_fields_are_ignored() -> None:
    assert AlgorithmInfo.from_dict({**INFO.to_dict(), "from_the_future": 1}) == INFO


@pytest.mark.parametrize("data", [{}, {"name": "x"}, {**INFO.to_dict(), "action_spaces": 5}])
def test_incomplete_description_is_refused(data: dict[str, object]) -> None:
    with pytest.raises(ConfigError, match="Invalid AlgorithmInfo"):
        AlgorithmInfo.from_dict(data)
