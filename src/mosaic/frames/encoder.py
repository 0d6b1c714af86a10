"""The process that encodes: frames from standard input become MP4 files. The only user of PyAV.

    python -m mosaic.frames.encoder FPS

For each file one JSON line on standard output says what became of it. When the writer dies, the
file it had begun is finished with the frames that came.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
from fractions import Fraction
from pathlib import Path
from struct import Struct
from typing import Any, BinaryIO, NamedTuple

from mosaic.fastlane.layout import CHANNELS
from mosaic.fastlane.tiling import Picture
from mosaic.frames.pictures import fitted

_HEAD = Struct("<cIId")
_BEGIN, _FRAME, _END = b"B", b"F", b"E"


class Begin(NamedTuple):
    path: str


class Frame(NamedTuple):
    at_s: float  # on any clock that only goes forward
    picture: Picture


class End(NamedTuple):
    pass


Message = Begin | Frame | End


def packed(message: Message) -> list[bytes]:
    """Parts to write one after the other: pixels are not copied."""
    if isinstance(message, Begin):
        path = message.path.encode("utf-8", "surrogateescape")
        return [_HEAD.pack(_BEGIN, len(path), 0, 0.0), path]
    if isinstance(message, Frame):
        picture = message.picture
        head = _HEAD.pack(_FRAME, picture.width, picture.height, message.at_s)
        return [head, picture.pixels]
    return [_HEAD.pack(_END, 0, 0, 0.0)]


def read_message(pipe: BinaryIO) -> Message | None:
    """None at the end, also where the writer died in the middle of something."""
    head = pipe.read(_HEAD.size)
    if len(head) < _HEAD.size:
        return None
    kind, width, height, at_s = _HEAD.unpack(head)
    if kind == _END:
        return End()
    size = width if kind == _BEGIN else width * height * CHANNELS
    data = pipe.read(size)
    if len(data) < size:
        return None
    if kind == _BEGIN:
        return Begin(data.decode("utf-8", "surrogateescape"))
    return Frame(at_s, Picture(width, height, data))


_OPTIONS = {"preset": "veryfast", "crf": "23"}


class MovieFile:
    """H.264 that every browser plays. Appears under its name when it is whole, if it has frames.

    The first frame sets the size; others are scaled into it, with black bars.
    """

    def __init__(self, path: Path, fps: float) -> None:
        self.path, self.frames = path, 0
        self._rate = Fraction(fps).limit_denominator(1000)
        self._partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._container: Any = None
        self._stream: Any = None
        self._size = (0, 0)
        self._began_s = 0.0
        self._tick = -1

    def add(self, picture: Picture, at_s: float) -> None:
        if self._container is None:
            self._open(picture, at_s)
        # Time as it was: where frames are missing, the one before stays longer.
        self._tick = max(self._tick + 1, round((at_s - self._began_s) * self._rate))
        frame = video_frame(boxed(picture, *self._size))
        frame.pts = self._tick
        self._container.mux(self._stream.encode(frame))
        self.frames += 1

    def finish(self) -> dict[str, Any]:
        """What is said about it."""
        width, height = self._size
        seconds = float((self._tick + 1) / self._rate)
        if self._container is not None:
            self._container.mux(self._stream.encode(None))
            self._container.close()
            self._partial.replace(self.path)
        about = {"frames": self.frames, "width": width, "height": height, "seconds": seconds}
        return {"path": str(self.path), **about}

    def give_up(self) -> None:
        with contextlib.suppress(Exception):  # it failed already; this is only tidying
            if self._container is not None:
                self._container.close()
        self._partial.unlink(missing_ok=True)

    def _open(self, picture: Picture, at_s: float) -> None:
        import av

        # yuv420p halves both sides: odd ones get one more black row or column.
        width, height = picture.width + picture.width % 2, picture.height + picture.height % 2
        self._size, self._began_s = (width, height), at_s
        self._container = av.open(str(self._partial), mode="w", format="mp4")
        stream: Any = self._container.add_stream("libx264", rate=self._rate)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.time_base = stream.codec_context.time_base = 1 / self._rate
        stream.codec_context.thread_count = 1  # the other cores belong to the training
        stream.options = _OPTIONS
        self._stream = stream


def boxed(picture: Picture, width: int, height: int) -> Picture:
    """The same picture on black of another size, smaller where it does not fit."""
    if picture[:2] == (width, height):
        return picture
    is_padding_enough = {width - picture.width, height - picture.height} <= {0, 1}
    if not is_padding_enough:
        picture = scaled(picture, *fitted(picture.width, picture.height, width, height))
    top, left = (height - picture.height) // 2, (width - picture.width) // 2
    stride = picture.width * CHANNELS
    before, after = bytes(left * CHANNELS), bytes((width - left) * CHANNELS - stride)
    rows = [
        before + picture.pixels[start : start + stride] + after
        for start in range(0, len(picture.pixels), stride)
    ]
    line = bytes(width * CHANNELS)
    below = height - top - picture.height
    return Picture(width, height, line * top + b"".join(rows) + line * below)


def scaled(picture: Picture, width: int, height: int) -> Picture:
    frame = video_frame(picture).reformat(width=width, height=height, format="rgb24")
    plane = frame.planes[0]
    data, stride = bytes(plane), width * CHANNELS
    starts = range(0, height * plane.line_size, plane.line_size)
    return Picture(width, height, b"".join(data[start : start + stride] for start in starts))


def video_frame(picture: Picture) -> Any:
    import av

    frame = av.VideoFrame(picture.width, picture.height, "rgb24")
    plane, stride = frame.planes[0], picture.width * CHANNELS
    padding = bytes(plane.line_size - stride)  # rows start at addresses the processor likes
    starts = range(0, len(picture.pixels), stride)
    pixels = picture.pixels
    if padding:
        pixels = b"".join(pixels[start : start + stride] + padding for start in starts)
    plane.update(pixels)
    return frame


def main() -> int:
    # Ctrl-C reaches every process of a terminal; this one ends when its pipe does.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    fps = float(sys.argv[1])
    movie: MovieFile | None = None
    while (message := read_message(sys.stdin.buffer)) is not None:
        try:
            if isinstance(message, Begin):
                movie = MovieFile(Path(message.path), fps)
            elif isinstance(message, Frame):
                if movie is not None:
                    movie.add(message.picture, message.at_s)
            elif movie is not None:
                _say(movie.finish())
                movie = None
        except Exception as error:  # noqa: BLE001  # FFmpeg's errors are of many kinds
            assert movie is not None
            movie.give_up()
            _say({"path": str(movie.path), "error": f"{type(error).__name__}: {error}"})
            movie = None
    if movie is not None:
        movie.finish()  # nobody may be left to be told
    return 0


def _say(about: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(about), flush=True)


if __name__ == "__main__":
    sys.exit(main())
