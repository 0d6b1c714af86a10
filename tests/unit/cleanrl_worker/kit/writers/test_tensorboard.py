"""The event files: what TensorBoard itself reads from them, and what a full disk does."""

from __future__ import annotations

import errno
import logging
import math
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from cleanrl_worker.kit.writers import tensorboard
from cleanrl_worker.kit.writers.tensorboard import TensorBoardWriter, markdown_table
from mosaic.errors import ConfigError


def read(directory: Path) -> EventAccumulator:
    accumulator = EventAccumulator(str(directory), size_guidance={"scalars": 0, "tensors": 0})
    accumulator.Reload()
    return accumulator


def points(directory: Path, tag: str) -> list[tuple[int, float]]:
    return [(event.step, event.value) for event in read(directory).Scalars(tag)]


def test_tensorboard_reads_every_scalar_with_its_step_and_time(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path)
    for step in range(0, 3000, 3):
        writer.scalar("charts/episodic_return", step / 4, step)
        writer.scalar("losses/value_loss", -0.5, step)
    writer.close()

    assert points(tmp_path, "charts/episodic_return") == [(s, s / 4) for s in range(0, 3000, 3)]
    assert len(points(tmp_path, "losses/value_loss")) == 1000
    wall_times = [event.wall_time for event in read(tmp_path).Scalars("losses/value_loss")]
    assert wall_times == sorted(wall_times)
    assert abs(wall_times[-1] - os.stat(writer.path).st_mtime) < 60


@pytest.mark.parametrize("step", [0, 1, 127, 128, 2**31, 10**12, -1])
def test_steps_of_any_size_come_back(tmp_path: Path, step: int) -> None:
    writer = TensorBoardWriter(tmp_path)
    writer.scalar("losses/ünïcode", 1.5, step)
    writer.close()
    assert points(tmp_path, "losses/ünïcode") == [(step, 1.5)]


def test_values_beyond_32_bits_become_infinite(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path)
    for step, value in enumerate([1e300, -1e300, math.nan, math.inf]):
        writer.scalar("losses/td_loss", value, step)
    writer.close()
    values = [value for _, value in points(tmp_path, "losses/td_loss")]
    assert values[:2] == [math.inf, -math.inf]
    assert math.isnan(values[2])
    assert values[3] == math.inf


def test_file_is_named_as_tensorboard_expects_and_never_reused(tmp_path: Path) -> None:
    writers = [TensorBoardWriter(tmp_path) for _ in range(3)]
    for writer in writers:
        writer.close()
    names = sorted(path.name for path in tmp_path.iterdir())
    assert len(names) == 3
    assert all(name.startswith("events.out.tfevents.") for name in names)
    assert all(str(os.getpid()) in name.split(".") for name in names)


def test_resumed_training_replaces_what_the_killed_one_wrote_after_its_checkpoint(
    tmp_path: Path,
) -> None:
    killed = TensorBoardWriter(tmp_path)
    for step in range(10):
        killed.scalar("charts/SPS", 1.0, step)
    killed.close()
    resumed = TensorBoardWriter(tmp_path, purge_from=6)
    for step in range(6, 12):
        resumed.scalar("charts/SPS", 2.0, step)
    resumed.close()
    expected = [(step, 1.0) for step in range(6)] + [(step, 2.0) for step in range(6, 12)]
    assert points(tmp_path, "charts/SPS") == expected


def test_hyperparameters_are_a_table_on_the_text_page(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path)
    writer.hyperparameters({"seed": 1, "env_id": "A|B\nC"})
    writer.close()
    accumulator = read(tmp_path)
    assert accumulator.SummaryMetadata("hyperparameters/text_summary").plugin_data.plugin_name == (
        "text"
    )
    tensor = accumulator.Tensors("hyperparameters/text_summary")[0].tensor_proto
    assert [dimension.size for dimension in tensor.tensor_shape.dim] == [1]
    assert tensor.string_val[0].decode() == ("|param|value|\n|-|-|\n|seed|1|\n|env_id|A\\|B C|")


def test_empty_table_still_has_its_head() -> None:
    assert markdown_table({}) == "|param|value|\n|-|-|"


def test_flush_makes_samples_readable_before_the_end(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path, flush_interval_s=3600)
    writer.scalar("charts/SPS", 1.0, 1)
    assert read(tmp_path).Tags()["scalars"] == []
    writer.flush()
    assert points(tmp_path, "charts/SPS") == [(1, 1.0)]
    writer.close()


def test_closing_twice_and_logging_afterwards_do_no_harm(tmp_path: Path) -> None:
    writer = TensorBoardWriter(tmp_path)
    writer.close()
    writer.scalar("charts/SPS", 1.0, 1)
    writer.flush()
    writer.close()


def full_disk(after: int) -> Callable[[int, bytes], int]:
    """An `os.write` that has room for this many bytes only."""
    room = after

    def write(fd: int, data: bytes) -> int:
        nonlocal room
        if room <= 0:
            raise OSError(errno.ENOSPC, "No space left on device")
        taken = bytes(data[:room])
        room -= len(taken)
        return original(fd, taken)

    original = os.write
    return write


def test_full_disk_is_told_once_and_the_file_is_whole_once_there_is_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    writer = TensorBoardWriter(tmp_path, flush_interval_s=3600)
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(os, "write", full_disk(after=70))  # cuts a record in two
        for step in range(5):
            writer.scalar("charts/SPS", 1.0, step)
            writer.flush()
    assert [record.message for record in caplog.records] == ["tensorboard.write_failed"]
    writer.scalar("charts/SPS", 1.0, 5)
    writer.close()
    assert points(tmp_path, "charts/SPS") == [(step, 1.0) for step in range(6)]
    assert writer.dropped == 0


def test_memory_stays_bounded_while_nothing_can_be_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(tensorboard, "MAX_BUFFERED_SAMPLES", 10)
    monkeypatch.setattr(tensorboard, "MAX_UNWRITTEN_BYTES", 100)
    writer = TensorBoardWriter(tmp_path, flush_interval_s=3600)
    with monkeypatch.context() as patch, caplog.at_level(logging.WARNING):
        patch.setattr(os, "write", full_disk(after=0))
        for step in range(30):
            writer.scalar("charts/SPS", 1.0, step)  # 10 fit
        writer.flush()
        writer.scalar("charts/SPS", 1.0, 31)  # the packed ones are over the limit already
        writer.flush()
    writer.close()
    assert writer.dropped == 21
    assert points(tmp_path, "charts/SPS") == [(step, 1.0) for step in range(10)]
    assert "tensorboard.samples_lost" in [record.message for record in caplog.records]


def test_folder_that_cannot_be_made_is_refused_at_the_start(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(ConfigError, match="tensorboard_dir") as refusal:
        TensorBoardWriter(tmp_path / "file" / "tensorboard")
    assert refusal.value.details["field"] == "tensorboard_dir"
