"""Scalars that newer writers store as tensors are recognised by their shape, and only those."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tensorboard.compat.proto import event_pb2, summary_pb2, tensor_pb2
from tensorboard.compat.proto.types_pb2 import DT_DOUBLE, DT_FLOAT
from tensorboard.plugins.scalar.summary_v2 import scalar_pb

from mosaic.analytics.tensorboard import scalars
from mosaic.analytics.tensorboard.scalars import EventScalars, RunScalars

SHAPE = scalar_pb("x", 0.0).value[0].tensor.tensor_shape


def packed(step: int, summary: summary_pb2.Summary) -> bytes:
    event = event_pb2.Event(wall_time=1e9 + step, step=step, summary=summary)
    data: bytes = event.SerializeToString()
    return data


def tensor_event(
    step: int, tag: str, tensor: tensor_pb2.TensorProto, plugin: str = "scalars"
) -> bytes:
    summary = scalar_pb(tag, 0.0)
    summary.value[0].tensor.CopyFrom(tensor)
    if plugin:
        summary.value[0].metadata.plugin_data.plugin_name = plugin
    else:
        summary.value[0].ClearField("metadata")
    return packed(step, summary)


def float_tensor(value: float, where: str) -> tensor_pb2.TensorProto:
    if where == "typed":
        return tensor_pb2.TensorProto(dtype=DT_FLOAT, tensor_shape=SHAPE, float_val=[value])
    content = struct.pack("<f", value)
    return tensor_pb2.TensorProto(dtype=DT_FLOAT, tensor_shape=SHAPE, tensor_content=content)


def without_shapes(events: list[bytes], monkeypatch: pytest.MonkeyPatch) -> RunScalars:
    monkeypatch.setattr(scalars, "_MAX_SHAPES", 0)
    slow, found = EventScalars(), RunScalars()
    for event in events:
        slow.decode(event, found)
    monkeypatch.undo()
    return found


@pytest.mark.parametrize("where", ["typed", "content"])
@pytest.mark.parametrize("is_described_once", [True, False])
def test_the_second_scalar_of_a_tag_is_not_taken_apart_again(
    where: str, is_described_once: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = [
        tensor_event(
            step,
            "loss",
            float_tensor(step / 8, where),
            "" if is_described_once and step else "scalars",
        )
        for step in range(5)
    ]
    decoder, found = EventScalars(), RunScalars()
    taken_apart = []
    whole = EventScalars._decode

    def counting(self: EventScalars, event: bytes, into: RunScalars) -> None:
        taken_apart.append(event)
        whole(self, event, into)

    monkeypatch.setattr(EventScalars, "_decode", counting)
    for event in events:
        decoder.decode(event, found)
    assert found.series["loss"].values.tolist() == [step / 8 for step in range(5)]
    assert found.series["loss"].steps.tolist() == list(range(5))
    assert len(taken_apart) == (2 if is_described_once else 1)


numbers = st.floats(width=32)
kinds = st.sampled_from(["simple", "typed", "content", "double", "two", "histogram", "nameless"])


def an_event(step: int, kind: str, value: float, tag: str) -> bytes:
    if kind == "simple":
        return packed(
            step,
            summary_pb2.Summary(value=[summary_pb2.Summary.Value(tag=tag, simple_value=value)]),
        )
    if kind == "double":
        tensor = tensor_pb2.TensorProto(dtype=DT_DOUBLE, tensor_shape=SHAPE, double_val=[value])
        return tensor_event(step, tag, tensor)
    if kind == "two":
        both = scalar_pb(tag, value)
        both.value.extend(scalar_pb(f"{tag}'", -value).value)
        return packed(step, both)
    if kind == "histogram":
        return tensor_event(step, tag, float_tensor(value, "typed"), "histograms")
    if kind == "nameless":
        return tensor_event(step, tag, float_tensor(value, "typed"), "")
    return tensor_event(step, tag, float_tensor(value, kind))


@given(st.lists(st.tuples(kinds, numbers, st.sampled_from(["a", "b", ""])), max_size=20))
def test_shapes_change_nothing_but_the_speed(drawn: list[tuple[str, float, str]]) -> None:
    events = [an_event(step * 100, *one) for step, one in enumerate(drawn)]
    decoder, found = EventScalars(), RunScalars()
    for event in events:
        decoder.decode(event, found)
    with pytest.MonkeyPatch.context() as patch:
        expected = without_shapes(events, patch)
    assert repr(found) == repr(expected)


def test_another_plugin_of_the_same_name_is_never_a_scalar(tmp_path: Path) -> None:
    decoder, found = EventScalars(), RunScalars()
    for step in range(3):
        decoder.decode(tensor_event(step, "x", float_tensor(1.0, "typed"), "histograms"), found)
    assert not found.series
    assert found.skipped == {"histogram": 3}
