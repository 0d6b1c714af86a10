"""`mosaic frames`: what a run's environments look like, live in the terminal or as files."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mosaic.cli.shared.argument_types import natural, number_between, positive
from mosaic.cli.shared.clients import open_client
from mosaic.cli.shared.terminal import is_terminal, printable, say
from mosaic.contracts.run_record import RunRecord
from mosaic.errors import MosaicError, RequestError, RunStateError
from mosaic.fastlane.layout import DEFAULT_SLOTS
from mosaic.frames.drawing import AUTO, STYLES
from mosaic.front.references import HELP, resolve_run

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.fastlane.viewer import View, Viewer
    from mosaic.frames.drawing import Renderer
    from mosaic.frames.terminal import Screen
    from mosaic.frames.videos import VideoRecording

DEFAULT_KEEP = 20
DEFAULT_SECONDS = 10.0
MOST_FPS = 120.0


def add(commands: Any) -> None:
    parser = commands.add_parser(
        "frames",
        help="watch a run's environments, or record them",
        description="Shows a run's environments live in the terminal, or writes them as files.",
    )
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
    from mosaic.fastlane.segment import segment_path
    from mosaic.fastlane.viewer import Viewer

    _check_arguments(arguments)
    with open_client(arguments) as client:
        record = client.get_run(resolve_run(client, arguments.run))
        directory = local_directory(record)
        segment = segment_path(record.run_id)
        if record.is_over and not segment.exists():
            raise RunStateError(
                f"{record.run_name} is over; frames can be seen only while it runs",
                hint=f"`mosaic replay {record.run_id}` plays its episodes again; recorded clips, "
                f"if any, are in {directory / 'videos'}",
            )
        first, count = watched_slots(arguments)
        interval_s = 1 / arguments.fps
        viewer = Viewer(segment, first_slot=first, slot_count=count, interval_s=interval_s)
        with contextlib.closing(viewer):
            follower = RunFollower(client, record)
            if arguments.png:
                return _write_png(viewer, follower, arguments)
            if arguments.once:
                return _show_once(viewer, follower, arguments)
            with contextlib.ExitStack() as stack:
                recording = _start_recording(arguments, record, directory, stack)
                return LiveFrames(viewer, follower, arguments, recording).run()


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
            f"{record.run_name} is on another machine, and frames cannot be relayed yet",
            hint="run `mosaic frames` there",
        )
    return directory


def _start_recording(
    arguments: argparse.Namespace, record: RunRecord, directory: Path, stack: contextlib.ExitStack
) -> VideoRecording | None:
    if not arguments.mp4 and not arguments.record:
        return None
    from mosaic.frames.recorder import Recorder
    from mosaic.frames.videos import ClipFolder, ClipSeries, SingleVideo

    if arguments.mp4:
        seconds = None if arguments.frames else arguments.seconds or DEFAULT_SECONDS
        path = arguments.mp4.absolute()
        return SingleVideo(Recorder(arguments.fps), path, arguments.frames, seconds)
    worker_type = str(record.capabilities.get("worker_type") or record.worker)
    folder = ClipFolder(directory, record.run_id, worker_type)
    stack.enter_context(folder.held())
    return ClipSeries(Recorder(arguments.fps), folder, arguments.keep)


def _write_png(viewer: Viewer, follower: RunFollower, arguments: argparse.Namespace) -> int:
    from mosaic.frames.pictures import write_png
    from mosaic.frames.watching import current_picture

    picture, _ = current_picture(viewer, arguments.wait, lambda: follower.is_over)
    try:
        write_png(arguments.png, picture)
    except OSError as error:
        raise RequestError(f"{arguments.png} cannot be written: {error.strerror}") from error
    say(f"{arguments.png}: {picture.width}x{picture.height}")
    return 0


def _show_once(viewer: Viewer, follower: RunFollower, arguments: argparse.Namespace) -> int:
    from mosaic.frames.drawing import Room
    from mosaic.frames.terminal import terminal_room
    from mosaic.frames.watching import current_picture

    renderer = make_renderer(arguments)
    picture, view = current_picture(viewer, arguments.wait, lambda: follower.is_over)
    if is_terminal(sys.stdout):
        room = terminal_room(sys.stdout.fileno())
    else:
        columns, lines = shutil.get_terminal_size()
        room = Room(columns, lines - 1)
    # One row less: the prompt comes below.
    text = renderer.text(picture, room._replace(rows=max(1, room.rows - 1)))
    # Not said: the picture is made of orders to the terminal, our own.
    print(text + status_line(view, arguments, follower.record), flush=True)
    return 0


def watched_slots(arguments: argparse.Namespace) -> tuple[int, int]:
    """(first, how many)"""
    return (0, arguments.grid) if arguments.slot is None else (arguments.slot, 1)


def make_renderer(arguments: argparse.Namespace) -> Renderer:
    from mosaic.frames.terminal import ask_for_sixel, chosen_style, is_worth_asking, renderer_for

    has_sixel = False
    if is_worth_asking(arguments.style, os.environ):
        with open_terminal() as fd:
            has_sixel = ask_for_sixel(fd)
    return renderer_for(chosen_style(arguments.style, os.environ, has_sixel), os.environ)


@contextlib.contextmanager
def open_terminal() -> Iterator[int]:
    """Standard output's terminal, to be read as well; standard input may be something else."""
    name = os.ttyname(sys.stdout.fileno())
    fd = os.open(name, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        yield fd
    finally:
        os.close(fd)


def status_line(
    view: View, arguments: argparse.Namespace, record: RunRecord, note: str = ""
) -> str:
    from mosaic.frames.hud import NO_PROGRESS, hud_line, slots_text

    slots = slots_text(*watched_slots(arguments), len(view.metrics))
    progress = record.progress if arguments.slot is None else NO_PROGRESS
    return printable(hud_line(view, slots, note, progress))


class LiveFrames:
    """Shows and records until the run is over, the recording is long enough, or q is pressed."""

    def __init__(
        self,
        viewer: Viewer,
        follower: RunFollower,
        arguments: argparse.Namespace,
        recording: VideoRecording | None,
    ) -> None:
        self._viewer, self._follower, self._arguments = viewer, follower, arguments
        self._recording = recording
        self._is_first = True

    def run(self) -> int:
        from mosaic.cli.shared.failures import INTERRUPTED

        last: View | None = None
        status = 0
        try:
            last = self._shown() if is_terminal(sys.stdout) else self._unshown()
        except KeyboardInterrupt:
            status = INTERRUPTED
        finally:
            sentence = self._recording.close() if self._recording else ""
        if last is not None:
            say(status_line(last, self._arguments, self._follower.record))
        if sentence:
            # Ctrl-C is how a recording is ended.
            say(sentence)
            return 0
        return status

    def _shown(self) -> View:
        from mosaic.frames.terminal import Screen, orderly_end
        from mosaic.frames.watching import watch

        renderer = make_renderer(self._arguments)
        with open_terminal() as fd:
            screen = Screen(renderer, fd)

            def show(view: View) -> bool:
                self._draw(screen, view)
                return self._is_enough(view)

            with orderly_end(screen), screen:
                return watch(self._viewer, 1 / self._arguments.fps, show, screen.is_quit)

    def _unshown(self) -> View:
        from mosaic.frames.watching import watch

        def wait(seconds: float) -> bool:
            time.sleep(max(0.0, seconds))
            return False

        return watch(self._viewer, 1 / self._arguments.fps, self._is_enough, wait)

    def _draw(self, screen: Screen, view: View) -> None:
        notes = [self._recording.note() if self._recording else "", self._follower.record.waiting]
        note = "  ".join(filter(None, notes))
        screen.show(view.picture, status_line(view, self._arguments, self._follower.record, note))

    def _is_enough(self, view: View) -> bool:
        from mosaic.fastlane.viewer import LIVE, PAUSED_NOW, STALLED
        from mosaic.frames.watching import COMING

        # The first picture may be one that was rendered for somebody else, long ago.
        is_stale, self._is_first = self._is_first and view.status in COMING, False
        if self._recording is not None:
            picture = None if is_stale else view.picture
            if self._recording.take(picture, time.monotonic()):
                return True
        is_going_on = view.status in (LIVE, PAUSED_NOW, STALLED)
        return self._follower.is_over or (self._follower.is_unknown and not is_going_on)


class RunFollower:
    def __init__(self, client: TrainerClient, record: RunRecord) -> None:
        self._client = client
        self.record = record
        self.is_unknown = False  # the daemon is gone, and nobody starts it again
        threading.Thread(target=self._follow, name="mosaic-run-follower", daemon=True).start()

    @property
    def is_over(self) -> bool:
        return self.record.is_over

    def _follow(self) -> None:
        try:
            for record in self._client.watch((self.record.run_id,)):
                self.record = record
        except (MosaicError, ValueError):  # ValueError: gRPC's, when the client has been closed
            self.is_unknown = True
