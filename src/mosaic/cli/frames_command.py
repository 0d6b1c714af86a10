"""`mosaic frames`: what a run's environments look like, live in the terminal or as files."""

from __future__ import annotations

import argparse
import contextlib
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.live_frames import LiveView, line_of, make_renderer, watched_slots
from mosaic.cli.numbers import natural, number_between, positive
from mosaic.cli.session import open_client
from mosaic.cli.terminal import is_terminal, say
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import RequestError, RunStateError
from mosaic.fastlane.layout import DEFAULT_SLOTS
from mosaic.frames.drawing import AUTO, STYLES
from mosaic.front.run_reference import HELP, resolve_run

if TYPE_CHECKING:
    from mosaic.cli.run_fate import RunFate
    from mosaic.fastlane.viewer import Viewer
    from mosaic.frames.recording import Recording

DEFAULT_KEEP = 20
DEFAULT_SECONDS = 10.0
MOST_FPS = 120.0


def add(commands: Any) -> None:
    parser = commands.add_parser("frames", help="watch a run's environments, or record them")
    parser.add_argument("run", metavar="RUN", help=HELP)
    which = parser.add_mutually_exclusive_group()
    which.add_argument(
        "--slot", type=natural, metavar="N", help="only this environment; 0 is the first"
    )
    which.add_argument(
        "--grid",
        type=positive,
        default=DEFAULT_SLOTS,
        metavar="N",
        help=f"the first N environments as tiles (default {DEFAULT_SLOTS})",
    )
    parser.add_argument(
        "--fps", type=number_between(0.1, MOST_FPS), default=30.0, metavar="F", help="default 30"
    )
    parser.add_argument("--style", choices=STYLES, default=AUTO, help="how to draw")
    target = parser.add_mutually_exclusive_group()
    target.add_argument("--once", action="store_true", help="show one picture and return")
    target.add_argument("--png", type=Path, metavar="OUT", help="write one picture to a file")
    target.add_argument("--mp4", type=Path, metavar="OUT", help="record a video")
    target.add_argument(
        "--record", action="store_true", help="record clips into the run's directory"
    )
    length = parser.add_mutually_exclusive_group()
    length.add_argument(
        "--seconds",
        type=number_between(0.001, 1e6),
        metavar="S",
        help=f"with --mp4 (default {DEFAULT_SECONDS:g})",
    )
    length.add_argument("--frames", type=positive, metavar="N", help="with --mp4")
    parser.add_argument(
        "--keep",
        type=positive,
        default=DEFAULT_KEEP,
        metavar="N",
        help=f"with --record: how many clips (default {DEFAULT_KEEP})",
    )
    parser.add_argument(
        "--wait",
        type=number_between(0.001, 1e6),
        default=30.0,
        metavar="S",
        help="with --png and --once: for a frame (default 30)",
    )
    parser.set_defaults(handler=frames)


def frames(arguments: argparse.Namespace) -> int:
    from mosaic.cli.run_fate import RunFate
    from mosaic.fastlane.segment import segment_path
    from mosaic.fastlane.viewer import Viewer

    _check_arguments(arguments)
    with open_client(arguments) as client:
        record = client.get_run(resolve_run(client, arguments.run))
        directory = local_directory(record)
        segment = segment_path(record.run_id)
        if record.is_over and not segment.exists():
            raise RunStateError(
                f"Run {record.run_id} is over; frames can be seen only while it runs",
                hint=f"`mosaic replay {record.run_id}` plays its episodes again; recorded clips, "
                f"if any, are in {directory / 'videos'}",
            )
        first, count = watched_slots(arguments)
        interval_s = 1 / arguments.fps
        viewer = Viewer(segment, first_slot=first, slot_count=count, interval_s=interval_s)
        with contextlib.closing(viewer):
            fate = RunFate(client, record)
            if arguments.png:
                return _write_png(viewer, fate, arguments)
            if arguments.once:
                return _show_once(viewer, fate, arguments)
            with contextlib.ExitStack() as stack:
                recording = _start_recording(arguments, record, directory, stack)
                return LiveView(viewer, fate, arguments, recording).run()


def _check_arguments(arguments: argparse.Namespace) -> None:
    """Before anything starts: what can be known to fail."""
    if (arguments.seconds or arguments.frames) and not arguments.mp4:
        raise RequestError("--seconds and --frames go with --mp4")
    out: Path | None = arguments.png or arguments.mp4
    if out is not None:
        if not out.absolute().parent.is_dir():
            raise RequestError(f"There is no folder {out.absolute().parent}")
        return
    is_plain = arguments.record or (arguments.once and arguments.style != AUTO)
    if not is_plain and not is_terminal(sys.stdout):
        raise RequestError(
            "Pictures are shown in a terminal, and the output is none",
            hint="--png FILE writes one picture, --mp4 FILE a video, --record clips",
        )


def local_directory(record: RunRecord) -> Path:
    """The run's directory; raises when it is on another machine."""
    directory = Path(record.paths.get("run_directory", ""))
    if not record.paths or not directory.is_dir():
        raise RequestError(
            f"Run {record.run_id} is on another machine, and frames cannot be relayed yet",
            hint="run `mosaic frames` there",
        )
    return directory


def _start_recording(
    arguments: argparse.Namespace, record: RunRecord, directory: Path, stack: contextlib.ExitStack
) -> Recording | None:
    if not arguments.mp4 and not arguments.record:
        return None
    from mosaic.frames.clips import ClipFolder
    from mosaic.frames.recorder import Recorder
    from mosaic.frames.recording import Clips, OneMovie

    if arguments.mp4:
        seconds = None if arguments.frames else arguments.seconds or DEFAULT_SECONDS
        path = arguments.mp4.absolute()
        return OneMovie(Recorder(arguments.fps), path, arguments.frames, seconds)
    worker_type = str(record.capabilities.get("worker_type") or record.worker)
    folder = ClipFolder(directory, record.run_id, worker_type)
    stack.enter_context(folder.held())
    return Clips(Recorder(arguments.fps), folder, arguments.keep)


def _write_png(viewer: Viewer, fate: RunFate, arguments: argparse.Namespace) -> int:
    from mosaic.frames.png import write_png
    from mosaic.frames.watching import picture_of_the_moment

    picture, _ = picture_of_the_moment(viewer, arguments.wait, lambda: fate.is_over)
    try:
        write_png(arguments.png, picture)
    except OSError as error:
        raise RequestError(f"{arguments.png} cannot be written: {error.strerror}") from error
    say(f"{arguments.png}: {picture.width}x{picture.height}")
    return 0


def _show_once(viewer: Viewer, fate: RunFate, arguments: argparse.Namespace) -> int:
    from mosaic.frames.drawing import Room
    from mosaic.frames.screen import terminal_room
    from mosaic.frames.watching import picture_of_the_moment

    renderer = make_renderer(arguments)
    picture, view = picture_of_the_moment(viewer, arguments.wait, lambda: fate.is_over)
    if is_terminal(sys.stdout):
        room = terminal_room(sys.stdout.fileno())
    else:
        columns, lines = shutil.get_terminal_size()
        room = Room(columns, lines - 1)
    # One row less: the prompt comes below.
    text = renderer.text(picture, room._replace(rows=max(1, room.rows - 1)))
    # Not said: the picture is made of orders to the terminal, our own.
    print(text + line_of(view, arguments, fate.record), flush=True)
    return 0
