"""W&B logs are read as they grow, and damage costs no more than its block.

The records are made with W&B's own protobuf classes. What W&B itself writes to disk is read in
tests/integration/test_wandb_reading.py, because it needs a process.
"""

from __future__ import annotations

import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mosaic.analytics.series import Series
from mosaic.analytics.wandb import records as wandb_records
from mosaic.analytics.wandb.reader import (
    BLOCK_BYTES,
    FILE_HEADER,
    WandbReader,
    find_logs,
    latest_log,
)
from mosaic.errors import StoreError

pb = pytest.importorskip("wandb.proto.wandb_internal_pb2")


def log_bytes(records: list[bytes]) -> bytes:
    log = bytearray(FILE_HEADER)
    for record in records:
        is_first, rest = True, record
        while is_first or rest:
            room = BLOCK_BYTES - len(log) % BLOCK_BYTES
            if room < 7:
                log += bytes(room)
                continue
            part, rest = rest[: room - 7], rest[room - 7 :]
            kind = (1 if is_first else 4) if not rest else (2 if is_first else 3)
            body = bytes([kind]) + part
            log += struct.pack("<IH", zlib.crc32(body), len(part)) + body
            is_first = False
    return bytes(log)


def history(step: int, **values: Any) -> bytes:
    record = pb.Record()
    for key, value in {"_step": step, "_timestamp": 1e9 + step, **values}.items():
        record.history.item.add(nested_key=key.split("__"), value_json=json.dumps(value))
    packed: bytes = record.SerializeToString()
    return packed


def whole_run() -> list[bytes]:
    head = pb.Record(header=pb.HeaderRecord(version_info=pb.VersionInfo(producer="0.31.0")))
    run = pb.Record()
    run.run.run_id, run.run.project, run.run.entity = "abc", "p", "e"
    run.run.display_name = "brave name"
    run.run.tags.extend(["one", "two"])
    run.run.start_time.seconds, run.run.start_time.nanos = 100, 500_000_000
    run.run.config.update.add(key="lr", value_json="0.1")
    run.run.config.update.add(key="_wandb", value_json="{}")
    config = pb.Record()
    config.config.update.add(nested_key=["net", "width"], value_json="64")
    config.config.update.add(key="odd", value_json="{broken")
    config.config.remove.add(key="lr")
    points = [history(step, loss=step / 3, a__b=step) for step in range(3)]
    summary = pb.Record()
    summary.summary.update.add(nested_key=["best", "loss"], value_json="0.25")
    end = pb.Record(exit=pb.RunExitRecord(exit_code=3))
    return [
        one if isinstance(one, bytes) else one.SerializeToString()
        for one in (head, run, config, *points, summary, end)
    ]


def written(folder: Path, data: bytes) -> Path:
    path = folder / "run-abc.wandb"
    path.write_bytes(data)
    return path


def test_run_config_summary_history_and_exit(tmp_path: Path) -> None:
    reader = WandbReader(written(tmp_path, log_bytes(whole_run())))
    news = reader.read_new()
    run = reader.run
    assert (run.run_id, run.project, run.entity, run.name) == ("abc", "p", "e", "brave name")
    assert (run.tags, run.started_at, run.writer_version) == (["one", "two"], 100.5, "0.31.0")
    assert (run.config, run.summary) == ({"net": {"width": 64}}, {"best": {"loss": 0.25}})
    assert run.exit_code == 3
    assert news.skipped == {"malformed": 1}
    assert news.problems == []
    assert news.series["loss"].steps.tolist() == [0, 1, 2]
    assert news.series["loss"].wall_times.tolist() == [1e9, 1e9 + 1, 1e9 + 2]
    assert news.series["a.b"].values.tolist() == [0, 1, 2]
    assert set(news.series) == {"loss", "a.b"}


def test_values_that_are_no_numbers_are_counted(tmp_path: Path) -> None:
    values = {"yes": True, "none": None, "text": "1.5", "list": [1], "nan": float("nan")}
    reader = WandbReader(written(tmp_path, log_bytes([history(1, **values)])))
    news = reader.read_new()
    assert sorted(news.series) == ["nan", "yes"]
    assert news.series["yes"].values.tolist() == [1.0]
    assert news.skipped.total() == 3


def test_values_in_fields_of_their_type(tmp_path: Path) -> None:
    record = pb.Record()
    record.history.step.num = 7
    record.history.item.add(key="i", integer=-5)
    record.history.item.add(key="n", number=0.1)
    record.history.item.add(key="b", boolean=True)
    record.history.item.add(key="t", text="x")
    news = WandbReader(written(tmp_path, log_bytes([record.SerializeToString()]))).read_new()
    read = {name: (s.steps.tolist(), s.values.tolist()) for name, s in news.series.items()}
    assert read == {"i": ([7], [-5.0]), "n": ([7], [0.1]), "b": ([7], [1.0])}


def test_field_numbers_are_those_of_the_installed_wandb() -> None:
    def numbers(message: str) -> dict[str, int]:
        found = getattr(pb, message).DESCRIPTOR.fields
        return {field.name: field.number for field in found}

    assert wandb_records.RECORD_FIELDS.items() <= numbers("Record").items()
    run = {"config": wandb_records.RUN_CONFIG, "tags": wandb_records.RUN_TAGS}
    run |= {"start_time": wandb_records.RUN_START_TIME, "summary": wandb_records.RUN_SUMMARY}
    assert (wandb_records.RUN_TEXTS | run).items() <= numbers("RunRecord").items()
    item = {"key": wandb_records.ITEM_KEY, "nested_key": wandb_records.ITEM_NESTED_KEY}
    item["value_json"] = wandb_records.ITEM_JSON
    for message in ("HistoryItem", "SummaryItem", "ConfigItem"):
        assert item.items() <= numbers(message).items()


def test_a_growing_log_is_read_piece_by_piece(tmp_path: Path) -> None:
    records = [history(step, x=step, pad="p" * (step * 997 % 40_000)) for step in range(30)]
    data = log_bytes(records)
    path = tmp_path / "run-abc.wandb"
    reader = WandbReader(path)
    assert reader.read_new().series == {}
    seen = Series()
    for end in range(0, len(data) + 9_999, 9_999):
        path.write_bytes(data[:end])
        news = reader.read_new()
        assert not news.is_restarted
        assert news.problems == []
        seen.extend(news.series.get("x", Series()))
    assert seen.steps.tolist() == list(range(30))


def test_a_damaged_block_is_passed_over_with_a_note(tmp_path: Path) -> None:
    data = bytearray(log_bytes([history(step, x=step, pad="p" * 900) for step in range(150)]))
    place = BLOCK_BYTES + BLOCK_BYTES // 2
    data[place] ^= 1
    path = written(tmp_path, bytes(data))
    reader = WandbReader(path)
    news = reader.read_new()
    (problem,) = news.problems
    assert str(path) in problem.message
    assert BLOCK_BYTES < problem.details["offset"] <= place
    lost = set(range(150)) - set(news.series["x"].steps)
    assert 10 < len(lost) < 34
    assert {0, 149}.isdisjoint(lost)


def test_damage_in_the_last_block_does_not_stop_what_comes_later(tmp_path: Path) -> None:
    data = log_bytes([history(step, x=step, pad="p" * 900) for step in range(150)])
    torn = bytearray(data[: BLOCK_BYTES + 5000])
    torn[-2000:] = bytes(2000)
    path = written(tmp_path, bytes(torn))
    reader = WandbReader(path)
    assert len(reader.read_new().problems) == 1
    path.write_bytes(bytes(torn) + data[len(torn) :])
    news = reader.read_new()
    assert news.problems == []
    assert not news.is_restarted
    assert news.series["x"].steps[-1] == 149


def test_a_log_that_was_replaced_is_read_anew(tmp_path: Path) -> None:
    path = written(tmp_path, log_bytes(whole_run()))
    reader = WandbReader(path)
    reader.read_new()
    path.write_bytes(log_bytes([history(9, x=1)]))
    news = reader.read_new()
    assert news.is_restarted
    assert reader.run.run_id == ""
    assert news.series["x"].steps.tolist() == [9]


def test_records_over_the_limit_are_passed_over(tmp_path: Path) -> None:
    records = [history(1, x=1), history(2, pad="p" * 100_000), history(3, x=1)]
    path = written(tmp_path, log_bytes(records))
    news = WandbReader(path, max_record_bytes=50_000).read_new()
    assert news.series["x"].steps.tolist() == [1, 3]
    assert len(news.problems) == 1


def test_something_else_is_no_log(tmp_path: Path) -> None:
    news = WandbReader(written(tmp_path, b"something else")).read_new()
    assert "not the header of a W&B log" in news.problems[0].message


def test_runs_are_found_in_their_folder(tmp_path: Path) -> None:
    names = ["offline-run-20260102_000000-b", "run-20260101_000000-a", "offline-run-20250101_0-c"]
    for name in names:
        (tmp_path / "wandb" / name).mkdir(parents=True)
        (tmp_path / "wandb" / name / f"run-{name[-1]}.wandb").write_bytes(FILE_HEADER)
    for folder in (tmp_path, tmp_path / "wandb"):
        assert [log.name[4] for log in find_logs(folder)] == ["c", "a", "b"]
        assert latest_log(folder) == tmp_path / "wandb" / names[0] / "run-b.wandb"
    (tmp_path / "wandb" / "latest-run").symlink_to(names[2])
    for folder in (tmp_path, tmp_path / "wandb"):
        assert latest_log(folder) == tmp_path / "wandb" / names[2] / "run-c.wandb"
    assert WandbReader(tmp_path / "wandb" / names[1]).path.name == "run-a.wandb"
    assert find_logs(tmp_path / "missing") == []
    assert latest_log(tmp_path / "missing") is None
    with pytest.raises(StoreError, match="holds 0 W&B logs"):
        WandbReader(tmp_path)


HOSTILE = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@HOSTILE
@given(junk=st.binary(max_size=300), at=st.integers(0, 900), cut=st.integers(0, 1200))
def test_hostile_logs_raise_nothing(tmp_path: Path, junk: bytes, at: int, cut: int) -> None:
    good = log_bytes(whole_run())
    news = WandbReader(written(tmp_path, (good[:at] + junk + good[at:])[:cut])).read_new()
    assert len(news.problems) <= 1


@HOSTILE
@given(junk=st.binary(max_size=120), at=st.integers(0, 60), which=st.integers(0, 6))
def test_hostile_records_raise_nothing(tmp_path: Path, junk: bytes, at: int, which: int) -> None:
    base = whole_run()[which]
    records = [junk, base[:at] + junk + base[at:], history(5, last=1)]
    news = WandbReader(written(tmp_path, log_bytes(records))).read_new()
    assert news.series["last"].steps.tolist() == [5]


def test_a_look_reads_no_more_than_it_may(tmp_path: Path) -> None:
    points = [history(step, loss=step / 3, text="x" * 5000) for step in range(1000)]
    reader = WandbReader(written(tmp_path, log_bytes([*whole_run(), *points])))
    looks = 0
    steps: list[int] = []
    while looks == 0 or reader.has_more:
        news = reader.read_new(max_bytes=1_500_000)
        steps += news.series["loss"].steps.tolist()
        looks += 1
    assert looks > 2
    assert steps == [0, 1, 2, *range(1000)]
    assert reader.read_new(max_bytes=10).series == {}
    assert not reader.has_more
