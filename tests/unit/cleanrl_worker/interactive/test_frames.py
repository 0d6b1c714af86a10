"""Frames: a PNG that decodes to the same pixels, and shared memory that holds them."""

from __future__ import annotations

import base64
import struct
import zlib
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from cleanrl_worker.interactive.frames import SharedMemoryFrames, encode_png, is_frame, open_frames

Frame = NDArray[np.uint8]


def decode_png(data: bytes) -> Frame:
    """Straight from the specification: chunks, inflate, undo the filter of each row."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    position, body, header = 8, b"", b""
    while position < len(data):
        (length,) = struct.unpack(">I", data[position : position + 4])
        kind = data[position + 4 : position + 8]
        content = data[position + 8 : position + 8 + length]
        (crc,) = struct.unpack(">I", data[position + 8 + length : position + 12 + length])
        assert crc == zlib.crc32(kind + content)
        header = content if kind == b"IHDR" else header
        body += content if kind == b"IDAT" else b""
        position += 12 + length
    width, height, depth, colour = struct.unpack(">IIBB", header[:10])
    channels = {0: 1, 2: 3, 6: 4}[colour]
    assert depth == 8
    rows = np.frombuffer(zlib.decompress(body), np.uint8).reshape(height, 1 + width * channels)
    assert set(rows[:, 0]) == {2}, "each row is the difference to the one above"
    pixels = np.cumsum(rows[:, 1:], axis=0, dtype=np.uint64).astype(np.uint8)
    return pixels.reshape(height, width, channels)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_png_holds_exactly_the_pixels(channels: int) -> None:
    frame = np.random.default_rng(0).integers(0, 256, (7, 5, channels), np.uint8)
    assert (decode_png(encode_png(frame)) == frame).all()


def test_grey_frames_need_no_third_axis() -> None:
    frame = np.arange(12, dtype=np.uint8).reshape(3, 4)
    assert (decode_png(encode_png(frame))[:, :, 0] == frame).all()


def test_plain_picture_takes_little_room() -> None:
    frame = np.full((400, 600, 3), 255, np.uint8)
    frame[100:120] = 0
    assert len(encode_png(frame)) < 10_000


def test_png_travels_as_text() -> None:
    frame = np.zeros((2, 3, 3), np.uint8)
    channel = open_frames("png", "run")
    assert channel is not None
    message = channel.describe(frame)
    assert (decode_png(base64.b64decode(message["data"])) == frame).all()


def test_shared_memory_holds_the_newest_frame_and_goes_with_the_session() -> None:
    frames = SharedMemoryFrames("01TESTRUN")
    try:
        for value, size in ((1, (2, 3)), (2, (2, 3)), (3, (4, 4))):
            frame = np.full((*size, 3), value, np.uint8)
            message = frames.describe(frame)
            path = Path("/dev/shm") / message["name"]
            assert path.name.startswith("mosaic.01TESTRUN")
            assert path.read_bytes() == frame.tobytes()
            assert (message["height"], message["width"], message["channels"]) == (*size, 3)
    finally:
        frames.close()
    assert not path.exists()
    assert not list(Path("/dev/shm").glob("mosaic.01TESTRUN*"))


def test_no_frames_means_no_channel() -> None:
    assert open_frames("none", "run") is None


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.zeros((2, 2, 3), np.uint8), True),
        (np.zeros((2, 2), np.uint8), True),
        (np.zeros((2, 2, 2), np.uint8), False),
        (np.zeros((0, 2, 3), np.uint8), False),
        (np.zeros((2, 2, 3)), False),
        (None, False),
        ("text", False),
    ],
)
def test_only_pictures_are_frames(value: object, expected: bool) -> None:
    assert is_frame(value) is expected
