"""Scalars come out of event files as TensorBoard reads them, whatever state the files are in."""

from __future__ import annotations

import os
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
from tensorboard.plugins.scalar.summary_v2 import scalar_pb
from tensorboard.plugins.text.summary_v2 import text_pb
from tensorboard.summary.writer.event_file_writer import EventFileWriter

from mosaic.analytics.series import Series
from mosaic.analytics.tensorboard.reader import ScalarReader
from mosaic.analytics.tensorboard.scalars import RunScalars
from mosaic.contracts.tensorboard_records import crc32c_by_table, masked_crc
from mosaic.errors import CorruptStoreError, StoreError

NAME = "events.out.tfevents.1.host.1.0"


def framed(data: bytes) -> bytes:
    length = struct.pack("<Q", len(data))
    checks = [struct.pack("<I", masked_crc(part)) for part in (length, data)]
    return length + checks[0] + data + checks[1]


def event(step: int, **values: float) -> bytes:
    summary = summary_pb2.Summary(
        value=[summary_pb2.Summary.Value(tag=tag, simple_value=x) for tag, x in values.items()]
    )
    packed: bytes = event_pb2.Event(
        wall_time=1e9 + step, step=step, summary=summary
    ).SerializeToString()
    return packed


def scalars(folder: Path) -> RunScalars:
    return ScalarReader(folder).read_new().get(".", RunScalars())


def joined(reader: ScalarReader, into: dict[str, Series]) -> RunScalars:
    """One more look, carried over to what was read before as a client does."""
    news = reader.read_new().get(".", RunScalars())
    news.carry_over(into)
    return news


def assert_same_as_tensorboard(folder: Path) -> None:
    accumulator = EventAccumulator(str(folder), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    theirs: dict[str, list[tuple[float, int, float]]] = {
        tag: [(one.wall_time, one.step, one.value) for one in accumulator.Scalars(tag)]
        for tag in accumulator.Tags()["scalars"]
    }
    for tag in accumulator.Tags()["tensors"]:
        tensors = accumulator.Tensors(tag)
        metadata = accumulator.SummaryMetadata(tag)
        if metadata.plugin_data.plugin_name == "scalars":
            theirs[tag] = [(t.wall_time, t.step, _number(t.tensor_proto)) for t in tensors]
    ours = {
        tag: list(zip(series.wall_times, series.steps, series.values, strict=True))
        for tag, series in scalars(folder).series.items()
    }
    assert repr(ours) == repr({tag: theirs[tag] for tag in ours})
    assert set(ours) == {tag for tag, points in theirs.items() if points}


def _number(tensor: Any) -> float:
    from tensorboard.util import tensor_util

    return float(tensor_util.make_ndarray(tensor).item())


def test_the_files_of_torch_are_read_as_tensorboard_reads_them(tmp_path: Path) -> None:
    writing = pytest.importorskip("torch.utils.tensorboard")
    writer = writing.SummaryWriter(str(tmp_path))
    for step in (0, 1, 127, 128, 16_383, 16_384, 2**21 - 1, 2**21, 2**31, 2**40, -1) * 2:
        for tag in ("a", "losses/policy", "ünï " * 40):
            writer.add_scalar(tag, step / 7, step)
    for value in (float("nan"), float("inf"), float("-inf"), 1e-45):
        writer.add_scalar("odd", value, 5)
    writer.add_scalar("new", 0.1, 3, new_style=True)
    writer.add_scalar("new", 0.2, 4, new_style=True)
    writer.add_scalar("double", 0.1, 3, new_style=True, double_precision=True)
    writer.add_text("words", "hello", 1)
    writer.add_histogram("weights", np.arange(5.0), 1)
    writer.add_image("picture", np.zeros((3, 2, 2), np.uint8), 1)
    writer.add_hparams({"lr": 0.1}, {"end": 1.0}, run_name="sub")
    writer.close()
    assert_same_as_tensorboard(tmp_path)
    read = ScalarReader(tmp_path).read_new()
    assert set(read) == {".", "sub"}
    assert read["sub"].series["end"].values.tolist() == [1.0]
    assert {"text": 1, "histogram": 1, "image": 1}.items() <= read["."].skipped.items()
    assert read["."].file_versions == {"brain.Event:2"}
    assert read["."].problems == []


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2", "i4", "i8", "u1", "i1", "i2", "u2", "?"])
@pytest.mark.parametrize("shape", [(), (1,), (1, 1)])
def test_tensors_of_one_element_are_scalars(
    tmp_path: Path, dtype: str, shape: tuple[int, ...]
) -> None:
    from tensorboard.util import tensor_util

    writer = EventFileWriter(str(tmp_path))
    number = np.full(shape, 1, dtype)
    for raw in (False, True):
        summary = scalar_pb("t", 0.0)
        tensor = tensor_util.make_tensor_proto(number)
        if raw:
            tensor = tensor_pb2.TensorProto(
                dtype=tensor.dtype,
                tensor_shape=tensor.tensor_shape,
                tensor_content=number.tobytes(),
            )
        summary.value[0].tensor.CopyFrom(tensor)
        writer.add_event(event_pb2.Event(step=2, wall_time=1.0, summary=summary))
    writer.close()
    read = scalars(tmp_path)
    assert read.series["t"].values.tolist() == [1.0, 1.0]
    assert not read.skipped


def test_what_a_tag_is_is_said_only_once(tmp_path: Path) -> None:
    writer = EventFileWriter(str(tmp_path))
    for step in range(3):
        for summary in (scalar_pb("s", step), text_pb("words", "x")):
            if step:
                summary.value[0].ClearField("metadata")
            writer.add_event(event_pb2.Event(step=step, wall_time=step, summary=summary))
    odd = scalar_pb("of another plugin", 1.0)
    odd.value[0].metadata.plugin_data.plugin_name = "pr_curves"
    writer.add_event(event_pb2.Event(step=1, summary=odd))
    many = scalar_pb("vector", 1.0)
    many.value[0].tensor.tensor_shape.dim.add().size = 3
    writer.add_event(event_pb2.Event(step=1, summary=many))
    writer.close()
    read = scalars(tmp_path)
    assert {tag: series.values.tolist() for tag, series in read.series.items()} == {"s": [0, 1, 2]}
    assert read.skipped == {"text": 3, "pr_curve": 1, "tensor": 1}


def test_where_a_training_resumed_its_curves_are_rewound(tmp_path: Path) -> None:
    def session(step: int, status: int) -> bytes:
        log = event_pb2.SessionLog(status=status)
        packed: bytes = event_pb2.Event(step=step, session_log=log).SerializeToString()
        return packed

    version = event_pb2.Event(file_version="brain.Event:2").SerializeToString()
    parts = [
        [version, session(0, event_pb2.SessionLog.START)],
        [event(step, x=step, late=step) for step in range(5, 20)],
        [session(15, event_pb2.SessionLog.STOP), session(12, event_pb2.SessionLog.START)],
        [event(step, x=-step) for step in range(12, 18)],
        [session(5, event_pb2.SessionLog.START), event(6, x=1)],
    ]
    path = tmp_path / NAME
    path.write_bytes(b"")
    reader = ScalarReader(tmp_path)
    seen: dict[str, Series] = {}
    for part in parts:
        with path.open("ab") as file:
            file.write(b"".join(map(framed, part)))
        joined(reader, seen)
        assert seen == scalars(tmp_path).series
        assert_same_as_tensorboard(tmp_path)
    assert seen["x"].values.tolist() == [1.0]
    assert "late" not in seen


def test_several_values_in_one_event(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(framed(event(4, a=1, b=2)) + framed(event(5, a=3)))
    series = scalars(tmp_path).series
    assert series["a"].steps.tolist() == [4, 5]
    assert series["b"].values.tolist() == [2]


def test_a_growing_file_is_read_piece_by_piece(tmp_path: Path) -> None:
    whole = b"".join(framed(event(step, a=step, bb=step)) for step in range(40))
    path = tmp_path / NAME
    reader = ScalarReader(tmp_path)
    seen: dict[str, Series] = {}
    for end in range(0, len(whole), 13):
        path.write_bytes(whole[:end])
        assert not joined(reader, seen).is_restarted
    path.write_bytes(whole)
    assert joined(reader, seen).problems == []
    assert seen == scalars(tmp_path).series
    assert seen["bb"].steps.tolist() == list(range(40))
    assert reader.read_new() == {}


def test_files_of_a_folder_follow_each_other_and_subfolders_are_runs(tmp_path: Path) -> None:
    for name, step in (("b.tfevents.2", 2), ("a.tfevents.1", 1), ("notes.txt", 9)):
        (tmp_path / name).write_bytes(framed(event(step, x=step)))
    (tmp_path / "eval" / "deep").mkdir(parents=True)
    shutil.copy(tmp_path / "a.tfevents.1", tmp_path / "eval" / "deep")
    read = ScalarReader(tmp_path).read_new()
    assert sorted(read) == [".", "eval/deep"]
    assert read["."].series["x"].steps.tolist() == [1, 2]
    alone = ScalarReader(tmp_path / "b.tfevents.2").read_new()
    assert alone["."].series["x"].steps.tolist() == [2]


@pytest.mark.parametrize("place", [3, 9, 15, -2])
def test_reading_stops_at_a_damaged_record_and_says_where(tmp_path: Path, place: int) -> None:
    good, bad, behind = (framed(event(step, x=step)) for step in range(3))
    broken = bytearray(bad)
    broken[place] ^= 1
    path = tmp_path / NAME
    path.write_bytes(good + bytes(broken) + behind)
    reader = ScalarReader(tmp_path)
    news = reader.read_new()["."]
    assert news.series["x"].steps.tolist() == [0]
    (problem,) = news.problems
    assert isinstance(problem, CorruptStoreError)
    assert str(path) in problem.message
    assert problem.details["offset"] == len(good)
    # It is said once; and a file that was repaired is read on.
    assert reader.read_new() == {}
    path.write_bytes(good + bad + behind)
    assert reader.read_new()["."].series["x"].steps.tolist() == [1, 2]


def test_zeros_behind_the_records_are_damage(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(framed(event(1, x=1)) + bytes(4096))
    news = scalars(tmp_path)
    assert len(news.problems) == 1
    assert news.series["x"].steps.tolist() == [1]


def truncate(path: Path) -> None:
    path.write_bytes(framed(event(7, x=7)))


def replace(path: Path) -> None:
    path.with_name("new").write_bytes(b"".join(framed(event(step, x=7)) for step in range(7, 99)))
    path.with_name("new").replace(path)


@pytest.mark.parametrize("change", [truncate, replace])
def test_a_file_that_became_another_is_read_anew(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    path = tmp_path / NAME
    path.write_bytes(b"".join(framed(event(step, x=step)) for step in range(50)))
    (tmp_path / f"{NAME}.later").write_bytes(framed(event(1000, x=1)))
    reader = ScalarReader(tmp_path)
    seen: dict[str, Series] = {}
    joined(reader, seen)
    change(path)
    assert joined(reader, seen).is_restarted
    assert seen == scalars(tmp_path).series
    assert reader.read_new() == {}


def test_a_copy_with_the_same_bytes_goes_on(tmp_path: Path) -> None:
    path = tmp_path / NAME
    path.write_bytes(framed(event(1, x=1)))
    reader = ScalarReader(tmp_path)
    reader.read_new()
    path.with_name("copy").write_bytes(framed(event(1, x=1)) + framed(event(2, x=2)))
    path.with_name("copy").replace(path)
    news = reader.read_new()["."]
    assert not news.is_restarted
    assert news.series["x"].steps.tolist() == [2]


def test_a_missing_or_deleted_folder_is_just_empty(tmp_path: Path) -> None:
    folder = tmp_path / "later"
    reader = ScalarReader(folder)
    assert reader.read_new() == {}
    folder.mkdir()
    (folder / NAME).write_bytes(framed(event(1, x=1)))
    assert len(reader.read_new()["."].series["x"]) == 1
    shutil.rmtree(folder)
    assert reader.read_new() == {}


def test_a_pipe_among_the_files_is_a_problem_and_no_trap(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.tfevents")
    (tmp_path / NAME).write_bytes(framed(event(1, x=1)))
    reader = ScalarReader(tmp_path)
    news = reader.read_new()["."]
    assert [type(problem) for problem in news.problems] == [StoreError]
    assert "a.tfevents" in news.problems[0].message
    assert len(news.series["x"]) == 1
    assert reader.read_new() == {}


def test_records_over_the_limit_are_passed_over(tmp_path: Path) -> None:
    huge = framed(bytes(2_000_000))
    (tmp_path / NAME).write_bytes(framed(event(1, x=1)) + huge + framed(event(2, x=2)))
    news = ScalarReader(tmp_path, max_record_bytes=1_500_000).read_new()["."]
    assert news.series["x"].steps.tolist() == [1, 2]
    assert len(news.problems) == 1
    # Within the limit, but longer than a chunk: read whole.
    assert scalars(tmp_path).problems == []


def test_a_length_that_promises_too_much_waits_without_memory(tmp_path: Path) -> None:
    length = struct.pack("<Q", 1 << 62)
    (tmp_path / NAME).write_bytes(length + struct.pack("<I", masked_crc(length)) + b"x" * 100)
    assert len(scalars(tmp_path).problems) == 1


def test_reading_in_portions(tmp_path: Path) -> None:
    for number in range(5):
        data = b"".join(framed(event(step, x=step)) for step in range(100))
        (tmp_path / f"{number}.tfevents").write_bytes(data)
    reader = ScalarReader(tmp_path)
    counts: list[int] = []
    while reader.has_more or not counts:
        news = reader.read_new(max_bytes=1000)
        counts.append(sum(len(run.series["x"]) for run in news.values()))
    assert sum(counts) == 500
    assert max(counts) == 100


def test_both_checksums_agree() -> None:
    assert crc32c_by_table(b"123456789") == 0xE3069283
    data = bytes(range(256)) * 3
    table = crc32c_by_table(data)
    assert masked_crc(data) == ((table >> 15 | table << 17) + 0xA282EAD8) & 0xFFFFFFFF


HOSTILE = settings(
    deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@HOSTILE
@given(junk=st.binary(max_size=300), cut=st.integers(0, 400), at=st.integers(0, 400))
def test_hostile_files_raise_nothing(tmp_path: Path, junk: bytes, cut: int, at: int) -> None:
    good = b"".join(framed(event(step, x=step)) for step in range(6))
    path = tmp_path / NAME
    path.write_bytes((good[:at] + junk + good[at:])[:cut])
    read = scalars(tmp_path)
    intact = min(at, cut) // len(framed(event(1, x=1)))
    assert len(read.series.get("x", Series())) >= min(intact, 6) - 1


@HOSTILE
@given(junk=st.binary(max_size=120), at=st.integers(0, 60))
def test_hostile_messages_in_whole_records_raise_nothing(
    tmp_path: Path, junk: bytes, at: int
) -> None:
    base = event_pb2.Event(step=1, wall_time=2.0, summary=scalar_pb("t", 1.0)).SerializeToString()
    (tmp_path / NAME).write_bytes(
        framed(junk) + framed(base[:at] + junk + base[at:]) + framed(event(3, x=3))
    )
    assert scalars(tmp_path).series["x"].steps.tolist() == [3]
