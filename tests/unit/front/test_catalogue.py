"""Algorithms of other sources, by the entry points that installed packages have."""

from __future__ import annotations

import importlib.metadata

import pytest

from mosaic.contracts.catalogue import AlgorithmInfo
from mosaic.errors import ConfigError
from mosaic.front.catalogue import find_algorithm, source_algorithms


def some_algorithms(path: str | None, env_python: str | None) -> list[AlgorithmInfo]:
    return [AlgorithmInfo("sarsa", "some", f"{path} {env_python}")]


@pytest.fixture
def one_source(monkeypatch: pytest.MonkeyPatch) -> None:
    value = f"{__name__}:some_algorithms"
    entry = importlib.metadata.EntryPoint("there", value, "mosaic.algorithm_sources")

    def entry_points(*, group: str) -> list[importlib.metadata.EntryPoint]:
        return [entry] if group == entry.group else []

    monkeypatch.setattr(importlib.metadata, "entry_points", entry_points)


@pytest.mark.usefixtures("one_source")
def test_a_source_is_told_where_to_look() -> None:
    (found,) = source_algorithms("there", "/path", None)
    assert (found.name, found.summary) == ("sarsa", "/path None")


@pytest.mark.usefixtures("one_source")
def test_algorithms_are_found_in_their_source_only() -> None:
    found = source_algorithms("there", None, None)
    assert find_algorithm("sarsa", found).worker == "some"
    with pytest.raises(ConfigError, match="no algorithm 'sarse'") as caught:
        find_algorithm("sarse", found)
    assert "did you mean sarsa" in caught.value.hint
    with pytest.raises(ConfigError):
        find_algorithm("no_such_algorithm")


@pytest.mark.usefixtures("one_source")
def test_unknown_source_is_refused_with_those_there_are() -> None:
    with pytest.raises(ConfigError, match="no source 'here'") as caught:
        source_algorithms("here", None, None)
    assert caught.value.hint == "known: there"
