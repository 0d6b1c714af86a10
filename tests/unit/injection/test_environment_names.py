from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mosaic.injection.made_environment import EnvironmentNames


class Odd:
    @property
    def spec(self) -> Any:
        raise RuntimeError("not ready")


def test_every_environment_is_named_once_and_what_has_no_name_is_passed_over() -> None:
    told: list[str] = []
    names = EnvironmentNames(told.append)
    for spec in (SimpleNamespace(id="CartPole-v1"), None, SimpleNamespace(id=7)):
        for _ in range(2):
            names.seen(SimpleNamespace(spec=spec))
    names.seen(object())
    names.seen(Odd())
    names.seen(SimpleNamespace(spec=SimpleNamespace(id="Acrobot-v1")))
    assert told == ["CartPole-v1", "Acrobot-v1"]


def test_a_script_that_makes_names_without_end_is_not_heard_without_end() -> None:
    told: list[str] = []
    names = EnvironmentNames(told.append)
    for number in range(1_000):
        names.seen(SimpleNamespace(spec=SimpleNamespace(id=f"env-{number}")))
    assert len(told) == 20
