"""Pictures of environments: what one looks like now, and episodes as MP4 files."""

from __future__ import annotations

import contextlib
import os
from fractions import Fraction
from pathlib import Path
from types import TracebackType
from typing import Any

import gymnasium
import numpy as np
from numpy.typing import NDArray

from cleanrl_worker.environments.families import family_of
from cleanrl_worker.environments.family_imports import DRAWN_WITH_OPENGL
from mosaic.errors import DependencyError, WorkerError
from mosaic.fastlane.drawing import NO_GL, can_draw, plain_drawing
from mosaic.logs import get_logger

_RENDER_MODE = "rgb_array"
_FILMED_EVERY = 1000
_DEFAULT_FPS = 30.0


def rendered(env: gymnasium.Env[Any, Any]) -> NDArray[Any]:
    """What it looks like now, RGB. Its render mode is another for this call only: some environments
    do more in each step when they have one.

    Raises WorkerError where nothing can be drawn, and whatever drivers raise.
    """
    core: Any = env.unwrapped
    if _RENDER_MODE not in core.metadata.get("render_modes", ()):
        raise WorkerError("it draws no pictures")
    needs_driver = core.spec is not None and family_of(core.spec.id).name in DRAWN_WITH_OPENGL
    if needs_driver and not can_draw(os.environ.get("MUJOCO_GL", "")):
        raise WorkerError(NO_GL)
    before = core.render_mode
    core.render_mode = _RENDER_MODE
    try:
        # Where videos are recorded too, they keep their full quality.
        with plain_drawing(core) if before is None else contextlib.nullcontext():
            picture: NDArray[Any] = core.render()
    finally:
        core.render_mode = before
    return picture


log = get_logger(__name__)

Frame = NDArray[np.uint8]  # (height, width, 3)


class VideoWriter:
    """Frames into an MP4 that every browser plays. A full disk costs only the video.

    The file appears under its name only when it is complete; without a frame there is none.
    """

    def __init__(self, path: Path, fps: float) -> None:
        try:
            import av
        except ImportError as error:
            raise DependencyError(
                "Videos need PyAV, which is not installed",
                hint='pip install "mosaic-rl[video]"',
            ) from error
        self._av = av
        self.path = path
        self.frames = 0
        self._rate = Fraction(fps).limit_denominator(1000)
        self._partial = path.with_name(f".{path.name}.{os.getpid()}.part")
        self._has_failed = False
        self._container: Any = None
        self._stream: Any = None
        self._canvas: Frame = np.zeros((0, 0, 3), np.uint8)

    def add(self, frame: Frame) -> None:
        """The first frame sets the size; a later one of another size is cut or filled up."""
        frame = np.asarray(frame)  # an environment without pictures gives None
        if frame.ndim != 3 or frame.shape[2] != 3 or frame.dtype != np.uint8:
            raise WorkerError(
                f"A video frame must be uint8 of shape (height, width, 3), not {frame.dtype} "
                f"of shape {frame.shape}",
                hint='the environment\'s render mode must be "rgb_array"',
            )
        if self._has_failed:
            return
        try:
            self._encode(frame)
        except OSError as error:  # PyAV's errors of the system are OSErrors, too
            self._give_up(error)

    def close(self) -> None:
        if self._container is None:
            return
        try:
            self._container.mux(self._stream.encode(None))
            self._container.close()
            self._container = None
            self._partial.replace(self.path)
        except OSError as error:
            self._give_up(error)

    def _encode(self, frame: Frame) -> None:
        if self._container is None:
            self._open(*frame.shape[:2])
        height = min(frame.shape[0], self._canvas.shape[0])
        width = min(frame.shape[1], self._canvas.shape[1])
        self._canvas[:height, :width] = frame[:height, :width]
        picture = self._av.VideoFrame.from_ndarray(self._canvas, format="rgb24")
        picture.pts = self.frames
        self._container.mux(self._stream.encode(picture))
        self.frames += 1

    def _open(self, height: int, width: int) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        # yuv420p halves both sides: odd ones get one more black row or column.
        height, width = height + height % 2, width + width % 2
        self._canvas = np.zeros((height, width, 3), np.uint8)
        container = self._av.open(str(self._partial), mode="w", format="mp4")
        stream = container.add_stream("libx264", rate=self._rate)
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.time_base = stream.codec_context.time_base = 1 / self._rate
        stream.codec_context.thread_count = 1  # the other cores belong to the training
        stream.options = {"preset": "veryfast", "crf": "23"}
        self._container, self._stream = container, stream

    def _give_up(self, error: OSError) -> None:
        log.warning("video.write_failed", path=str(self.path), error=error.strerror)
        self._has_failed = True
        with contextlib.suppress(OSError):
            if self._container is not None:
                self._container.close()
        self._container = None
        with contextlib.suppress(OSError):
            self._partial.unlink()

    def __enter__(self) -> VideoWriter:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


def is_filmed(episode: int) -> bool:
    """0, 1, 8, 27, ... and every thousandth from 1000 on."""
    if episode >= _FILMED_EVERY:
        return episode % _FILMED_EVERY == 0
    root: int = round(float(episode) ** (1 / 3))
    return root * root * root == episode


class EpisodeVideos:
    """Some episodes of one environment as MP4 files, more of them early in training."""

    def __init__(self, env: gymnasium.Env[Any, Any], directory: Path) -> None:
        self.episodes = 0  # begun so far
        self._env = env
        self._directory = directory
        self._fps = float(env.metadata.get("render_fps") or _DEFAULT_FPS)
        self._first_frame: Any = None
        self._writer: VideoWriter | None = None

    def begin_episode(self) -> None:
        self.close()
        number = self.episodes
        self.episodes += 1
        if is_filmed(number):
            self._writer = VideoWriter(self._directory / f"episode-{number}.mp4", self._fps)
            # Not yet written: a resumed training resets once before it takes its state back, and
            # must not replace the video of its first episode.
            self._first_frame = self._env.render()

    def add_frame(self) -> None:
        if self._writer is None:
            return
        if self._first_frame is not None:
            self._writer.add(self._first_frame)
            self._first_frame = None
        frame: Any = self._env.render()
        self._writer.add(frame)

    def continue_after(self, episodes: int) -> None:
        """A resumed training goes on counting; the rest of its current episode is not filmed."""
        self.close()
        self.episodes = episodes

    def close(self) -> None:
        if self._writer is not None:
            self._writer.close()
            self._writer = self._first_frame = None
