"""A replay as files: one picture, or a video."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from mosaic.errors import RequestError, WorkerError

if TYPE_CHECKING:
    from mosaic.frames.recorder import Recorder
    from mosaic.replay.simulation import Simulation

MOST_FPS = 60.0
_ENCODER_WAIT_S = 60.0


def check_folder(path: Path) -> None:
    if not path.absolute().parent.is_dir():
        raise RequestError(f"There is no folder {path.absolute().parent}")


def write_picture(simulation: Simulation, step: int | None, path: Path) -> str:
    """Of this step, or of the last; returns a sentence."""
    from mosaic.frames.pictures import write_png

    if step is not None and not 0 <= step <= simulation.steps:
        raise RequestError(f"--step {step}: the episode has steps 0 to {simulation.steps}")
    picture = simulation.seek(simulation.steps if step is None else step)
    try:
        write_png(path, picture)
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror}") from error
    index = simulation.step.index
    return f"{path}: step {index} of {simulation.steps}, {picture.width}x{picture.height}"


def write_movie(simulation: Simulation, steps_per_second: float, path: Path) -> str:
    """Every step is a frame, unless that were too many in a second; returns a sentence."""
    from mosaic.frames.recorder import Recorder
    from mosaic.frames.videos import movie_text

    steps, fps = shown_steps(simulation.steps, steps_per_second, MOST_FPS)
    # Under another name until all of it is there: whatever ends this leaves no half of a video.
    unfinished = path.absolute().with_name(f".{path.name}.{os.getpid()}.tmp")
    recorder = Recorder(fps)
    try:
        try:
            recorder.begin(unfinished)
            _add_frames(recorder, simulation, steps, fps)
        finally:
            (movie,) = recorder.close()
        if movie.error or recorder.dropped:
            reason = movie.error or "the encoder was too slow"
            raise WorkerError(f"{path} could not be written: {reason}")
        try:
            unfinished.replace(path)
        except OSError as error:
            raise RequestError(f"{path} cannot be written: {error.strerror}") from error
    finally:
        unfinished.unlink(missing_ok=True)
    return movie_text(movie._replace(path=path))


def _add_frames(recorder: Recorder, simulation: Simulation, steps: list[int], fps: float) -> None:
    for number, step in enumerate(steps):
        # Where there is no room even then, the frame is dropped, and counted.
        recorder.wait_for_room(_ENCODER_WAIT_S)
        recorder.add(simulation.seek(step), number / fps)
        if recorder.has_died or simulation.step.index < step:
            return  # the simulated episode ended before the recorded one did


def copy_clip(clip: Path, path: Path) -> str:
    """The clip a run recorded itself, in place of a video that cannot be made."""
    from mosaic.files import atomic_write

    try:
        atomic_write(path.absolute(), clip.read_bytes(), 0o644)
    except OSError as error:
        raise RequestError(f"{clip} cannot be copied to {path}: {error.strerror}") from error
    return f"{path}: a copy of {clip}"


def shown_steps(steps: int, steps_per_second: float, most_fps: float) -> tuple[list[int], float]:
    """Which steps a video shows, and its frames a second: all, where that is not too fast for it.

    The first and the last step are always among them.
    """
    fps = min(steps_per_second, most_fps)
    stride = steps_per_second / fps
    count = int(steps / stride) + 1
    chosen = [int(number * stride) for number in range(count)]
    return (chosen if chosen[-1] == steps else [*chosen, steps]), fps
