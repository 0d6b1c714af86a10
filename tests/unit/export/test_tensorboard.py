from __future__ import annotations

import math
import shlex
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mosaic.errors import RequestError
from mosaic.export.tensorboard import export_tensorboard
from tests.unit.export.run_rows_samples import START, SampleRows, episode


def read(folder: Path) -> dict[str, list[tuple[int, float, float]]]:
    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0})
    accumulator.Reload()
    return {
        tag: [(event.step, event.value, event.wall_time) for event in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }


def test_metrics_and_episodes_are_read_by_tensorboard_itself(tmp_path: Path) -> None:
    losses = [(step, step / 8) for step in range(10)]
    rows = SampleRows({"losses/value": losses, "SPS": [(5, 100.0)]}, [episode(0), episode(1, 2.5)])
    done = export_tensorboard(rows, tmp_path / "out")
    found = read(done.folder)
    assert found["losses/value"] == [(step, value, START + step) for step, value in losses]
    assert found["SPS"] == [(5, 100.0, START + 5)]
    assert found["episode/return"] == [(0, 10.0, START), (1, 2.5, START + 1)]
    assert found["episode/length"] == [(0, 5.0, START), (1, 6.0, START + 1)]
    assert done.rows == {"metrics": 11, "episodes": 2}


def test_steps_that_go_back_strange_values_and_strange_names_survive(tmp_path: Path) -> None:
    values = [(100, math.nan), (0, math.inf), (-5, -math.inf), (2**40, 1e300)]
    rows = SampleRows({"a,b\n/ü": values})
    found = read(export_tensorboard(rows, tmp_path / "out").folder)
    ((name, events),) = found.items()
    assert name == "a,b\n/ü"
    assert [step for step, _, _ in events] == [100, 0, -5, 2**40]
    assert math.isnan(events[0][1])
    assert [value for _, value, _ in events[1:]] == [math.inf, -math.inf, math.inf]


def test_a_metric_that_is_called_like_ours_stays_alone_under_its_name(tmp_path: Path) -> None:
    rows = SampleRows({"episode/return": [(7, 1.0)]}, [episode(0)])
    found = read(export_tensorboard(rows, tmp_path / "out").folder)
    assert found["episode/return"] == [(7, 1.0, START + 7)]
    assert found["episode/length"] == [(0, 5.0, START)]


def test_a_run_without_anything_is_a_file_without_scalars(tmp_path: Path) -> None:
    done = export_tensorboard(SampleRows(), tmp_path / "out")
    assert read(done.folder) == {}
    assert done.rows == {"metrics": 0, "episodes": 0}


def test_only_the_metrics_that_are_asked_for(tmp_path: Path) -> None:
    rows = SampleRows({"a": [(0, 1.0)], "b": [(0, 2.0)]})
    assert set(read(export_tensorboard(rows, tmp_path / "one", metrics=["b"]).folder)) == {"b"}
    with pytest.raises(RequestError, match="no metric 'c'") as caught:
        export_tensorboard(rows, tmp_path / "two", metrics=["b", "c"])
    assert caught.value.hint == "it has a, b"
    assert not (tmp_path / "two").exists()


def test_the_command_that_shows_it_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    folder = tmp_path / "my run; touch gone"
    advice = export_tensorboard(SampleRows(), folder).advice
    assert shlex.split(advice) == ["tensorboard", "--logdir", str(folder)]


def test_half_a_character_in_a_name_ends_no_export(tmp_path: Path) -> None:
    rows = SampleRows({"loss\ud800": [(0, 1.0)]})
    assert export_tensorboard(rows, tmp_path / "out").rows == {"metrics": 1, "episodes": 0}
