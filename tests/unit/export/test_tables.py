from __future__ import annotations

import csv
import json
import math
import sys
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mosaic.errors import DependencyError
from mosaic.export import table_formats
from mosaic.export.run_rows import LeftOutEpisode, parse_choice
from mosaic.export.table_formats import CsvFormat, ParquetFormat
from mosaic.export.tables import WideMetrics, export_tables, missing_steps
from tests.unit.export.run_rows_samples import START, SampleRows, episode, series, step

SEED = 2**100
STRANGE = {
    "a,b": [(0, 0.1), (1, math.nan)],
    'line\nbreak "quoted"': [(0, math.inf)],
    "ü/é": [(-3, -math.inf), (2**60, 1e-300)],
}


def read_csv(path: Path) -> list[dict[str, str]]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def test_csv_in_long_form(tmp_path: Path) -> None:
    rows = SampleRows(STRANGE, [episode(0, episode_seed=SEED, metadata={"x": [1]})])
    done = export_tables(rows, tmp_path / "out", CsvFormat())
    assert done.rows == {"metrics": 5, "episodes": 1}
    points = read_csv(done.folder / "metrics.csv")
    expected = [(name, at, value) for name, series_ in STRANGE.items() for at, value in series_]
    for found, (name, at, value) in zip(points, expected, strict=True):
        assert (found["name"], int(found["step"])) == (name, at)
        assert float(found["timestamp"]) == START + at
        assert float(found["value"]) == value or math.isnan(value)
    (found,) = read_csv(done.folder / "episodes.csv")
    assert found["episode_seed"] == str(SEED)
    assert json.loads(found["metadata"]) == {"x": [1]}
    assert not (done.folder / "steps.csv").exists()


def test_csv_of_steps_keeps_json_values_as_json(tmp_path: Path) -> None:
    steps = [step(0, 0, action={"gas": 0.1}), step(1, 0, info=None), step(2, 0)]
    rows = SampleRows(steps=steps, page=1)
    choice = parse_choice("0..1")
    done = export_tables(rows, tmp_path / "out", CsvFormat(), episodes=choice, with_steps=True)
    found = read_csv(done.folder / "steps.csv")
    assert done.rows["steps"] == len(found) == 2
    assert json.loads(found[0]["action"]) == {"gas": 0.1}
    assert json.loads(found[0]["observation"]) == [0.1, None, "NaN"]
    assert found[1]["info"] == ""


def test_parquet_holds_the_same_in_row_groups(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table_formats, "ROWS_PER_GROUP", 4)
    metrics = {**STRANGE, "long": [(at, float(at)) for at in range(20)]}
    rows = SampleRows(metrics, [episode(0, episode_seed=SEED)], [step(0, 0)])
    done = export_tables(rows, tmp_path / "out", ParquetFormat(), with_steps=True)
    file = pyarrow.parquet.ParquetFile(done.folder / "metrics.parquet")
    found = file.read().to_pylist()
    assert file.metadata.num_row_groups > 4
    expected = [(name, at, value) for name, points in metrics.items() for at, value in points]
    for row, (name, at, value) in zip(found, expected, strict=True):
        assert (row["name"], row["step"], row["timestamp"]) == (name, at, START + at)
        assert row["value"] == value or (math.isnan(value) and math.isnan(row["value"]))
    (row,) = pyarrow.parquet.read_table(done.folder / "episodes.parquet").to_pylist()
    assert (row["episode_seed"], row["terminated"]) == (str(SEED), True)
    (row,) = pyarrow.parquet.read_table(done.folder / "steps.parquet").to_pylist()
    assert json.loads(row["observation"]) == [0.1, None, "NaN"]


@pytest.mark.parametrize("table_format", [CsvFormat(), ParquetFormat()])
def test_a_run_without_anything_has_tables_without_rows(tmp_path: Path, table_format: Any) -> None:
    done = export_tables(SampleRows(), tmp_path / "out", table_format, with_steps=True)
    assert done.rows == {"metrics": 0, "episodes": 0, "steps": 0}
    if table_format.suffix == ".csv":
        assert (
            done.folder / "metrics.csv"
        ).read_text() == "name,step,value,timestamp,count,low,high\n"
    else:
        assert pyarrow.parquet.read_table(done.folder / "metrics.parquet").num_rows == 0


def test_parquet_without_pyarrow_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(DependencyError, match="pyarrow") as caught:
        ParquetFormat()
    assert "mosaic-rl[parquet]" in caught.value.hint


@pytest.mark.parametrize("table_format", [CsvFormat(), ParquetFormat()])
def test_rows_that_stop_coming_leave_nothing(tmp_path: Path, table_format: Any) -> None:
    class Broken(SampleRows):
        def points(self, name: str) -> Any:
            yield series(name, [(0, 1.0)])
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        export_tables(Broken({"a": []}), tmp_path / "out", table_format)
    assert list(tmp_path.iterdir()) == []


def test_wide_form_has_a_row_per_step_and_loses_no_value(tmp_path: Path) -> None:
    metrics = {"a": [(2, 1.0), (0, 2.0), (2, 3.0)], "step": [(1, 9.0), (2, 8.0)]}
    done = export_tables(SampleRows(metrics), tmp_path / "out", CsvFormat(), is_wide=True)
    assert (done.folder / "metrics.csv").read_text().splitlines() == [
        "step,a,metric step",
        "0,2.0,",
        "1,,9.0",
        "2,1.0,8.0",
        "2,3.0,",
    ]
    assert done.rows["metrics"] == 4


def test_wide_parquet_tells_missing_from_nan(tmp_path: Path) -> None:
    metrics = {"a": [(0, math.nan)], "b": [(1, 1.0)]}
    done = export_tables(SampleRows(metrics), tmp_path / "out", ParquetFormat(), is_wide=True)
    first, second = pyarrow.parquet.read_table(done.folder / "metrics.parquet").to_pylist()
    assert math.isnan(first["a"]) and first["b"] is None
    assert (second["a"], second["b"]) == (None, 1.0)


@settings(max_examples=50, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from("abc"), st.lists(st.tuples(st.integers(-3, 3), st.floats(0, 1)))
    )
)
def test_wide_form_holds_every_point_once(metrics: dict[str, list[tuple[int, float]]]) -> None:
    wide = WideMetrics()
    for name, points in metrics.items():
        wide.add(name, [series(name, points[:2]), series(name, points[2:])])
    names = [column.name for column in wide.columns()]
    rows = [row for block in wide.rows() for row in zip(*block, strict=True)]
    assert [row[0] for row in rows] == sorted(row[0] for row in rows)
    for place, name in enumerate(names[1:], start=1):
        found = [(row[0], row[place]) for row in rows if row[place] is not None]
        assert found == sorted(metrics[name], key=lambda point: point[0])


def test_text_from_outside_is_no_formula_and_numbers_are_numbers(tmp_path: Path) -> None:
    metrics = {"=1+1": [(-1, -0.5)], "@sum": [(0, -math.inf)]}
    episodes = [episode(-7, -1e-300, episode_seed=-3, agent_id="+cmd", metadata="=x")]
    steps = [step(-1, 0, action=-1, info="-2+3", render_hint=[-1])]
    rows = SampleRows(metrics, episodes, steps)
    done = export_tables(rows, tmp_path / "long", CsvFormat(), with_steps=True)
    assert [row["name"] for row in read_csv(done.folder / "metrics.csv")] == ["'=1+1", "'@sum"]
    lines = (done.folder / "metrics.csv").read_text().splitlines()
    assert lines[1].startswith("'=1+1,-1,-0.5,") and lines[2].startswith("'@sum,0,-inf,")
    (found,) = read_csv(done.folder / "episodes.csv")
    assert (found["episode_index"], found["total_reward"]) == ("-7", "-1e-300")
    assert (found["episode_seed"], found["agent_id"]) == ("-3", "'+cmd")
    assert json.loads(found["metadata"]) == "=x"  # JSON text begins with a quotation mark
    (found,) = read_csv(done.folder / "steps.csv")
    assert (found["action"], found["info"], found["render_hint"]) == ("-1", '"-2+3"', "[-1]")

    wide = export_tables(rows, tmp_path / "wide", CsvFormat(), is_wide=True).folder / "metrics.csv"
    assert wide.read_text().splitlines()[:2] == ["step,'=1+1,'@sum", "-1,-0.5,"]


@pytest.mark.parametrize("table_format", [CsvFormat(), ParquetFormat()], ids=["csv", "parquet"])
def test_half_a_character_ends_no_export(tmp_path: Path, table_format: Any) -> None:
    rows = SampleRows(
        {"loss\ud800": [(0, 1.0)]}, [episode(0, agent_id="\udfff", metadata={"\ud800": "\udc00"})]
    )
    for is_wide in (False, True):
        done = export_tables(rows, tmp_path / f"{is_wide}", table_format, is_wide=is_wide)
        assert done.rows == {"metrics": 1, "episodes": 1}


def test_episodes_without_steps_for_the_same_reason_are_one_sentence() -> None:
    episodes = [LeftOutEpisode(n, "not recorded") for n in range(5000)]
    episodes += [LeftOutEpisode(5000, "it differs"), LeftOutEpisode(5001, "not recorded")]
    assert missing_steps(episodes) == [
        "steps of 5000 episodes from 0 to 4999: not recorded",
        "steps of episode 5000: it differs",
        "steps of episode 5001: not recorded",
    ]
