"""Which runs have agents, and what is read of their files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.manifest import AgentsArtifact, AnalyticsManifest
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError
from mosaic.gui.agents.model.reading import AgentsReader, has_agents
from tests.unit.gui.agent_samples import map_data, values_data
from tests.unit.gui.run_samples import over, record

ARTIFACT = AgentsArtifact("agents.jsonl", "agents.1.jsonl", "values.jsonl")


@pytest.mark.parametrize(
    ("run", "has_them"),
    [
        (over(manifest={"agents": {"trace_path": "a"}}), True),
        (over(manifest={"agents": {"values_path": "a"}}), True),
        (over(manifest={"agents": {"trace_path": "", "values_path": ""}}), False),
        (record(capabilities={"agents": {"goals": []}}), True),
        (record(capabilities={"agents": {"goals": ["explore"]}}), True),
        (over(capabilities={"agents": {"goals": ["explore"]}}), False),
        (record(capabilities={"agents": None}, manifest={"agents": 3}), False),
    ],
)
def test_runs_have_agents_by_their_manifest_or_may_get_them(run: RunRecord, has_them: bool) -> None:
    assert has_agents(run) is has_them


def run_in(folder: Path, **changes: Any) -> RunRecord:
    made = AnalyticsManifest("01", "sample", **changes)
    (folder / "analytics.json").write_text(json.dumps(made.to_dict()))
    return record(paths={"run_directory": str(folder)}, manifest=made.to_dict())


def lines(*items: dict[str, Any]) -> str:
    return "".join(json.dumps(item) + "\n" for item in items)


def belief(text: str) -> dict[str, Any]:
    return {
        "timestamp": 1.0,
        "agent": "learner",
        "kind": "belief",
        "added": True,
        "text": text,
        "source": "self",
    }


def test_what_was_written_since_is_added(tmp_path: Path) -> None:
    reader = AgentsReader(run_in(tmp_path, agents=ARTIFACT))
    assert reader.read().is_empty
    trace, values = tmp_path / "agents.jsonl", tmp_path / "values.jsonl"
    trace.write_text(lines(belief("a")))
    values.write_text(lines(map_data(), values_data([[1.0, 0, 0, 0]])))
    first = reader.read()
    assert [one.text for one in first.minds[0].beliefs] == ["a"]
    assert first.map is not None
    with trace.open("a") as file:
        file.write("garbage\n" + lines(belief("b")))
    second = reader.read()
    assert [one.text for one in second.minds[0].beliefs] == ["a", "b"]
    assert len(second.snapshots) == 1
    assert len(second.problems) == 1


def test_a_manifest_that_names_the_files_later_is_read_again(tmp_path: Path) -> None:
    run = run_in(tmp_path)
    reader = AgentsReader(run)
    assert reader.read().is_empty
    (tmp_path / "agents.jsonl").write_text(lines(belief("a")))
    run_in(tmp_path, agents=ARTIFACT)
    assert not reader.read().is_empty


def test_files_of_a_run_elsewhere_are_refused_with_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(MosaicError, match="not on this machine"):
        AgentsReader(record()).read()


def test_problems_do_not_pile_up(tmp_path: Path) -> None:
    reader = AgentsReader(run_in(tmp_path, agents=ARTIFACT))
    for _ in range(20):
        with (tmp_path / "agents.jsonl").open("a") as file:
            file.write("garbage\n")
        found = reader.read()
    assert 0 < len(found.problems) <= 3
