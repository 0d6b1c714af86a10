"""What watching a run costs the one who watches, as a share of a core.

    python -m benchmarks.frame_viewer [--seconds 4] [--width 480] [--height 320] [--json]

A child publishes frames of this size, 90 times a second. "poll" only takes copies, 60 times a
second; "blocks" also draws them with half blocks, 30 times a second, into a pseudo-terminal that
somebody reads: "a moving thing" changes some cells of a picture, "all pixels change" every cell
(noise, the worst there is). CPU time is that of the watching thread only.
"""

from __future__ import annotations

import argparse
import contextlib
import fcntl
import json
import os
import pty
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.report import Report
from mosaic.fastlane.layout import Geometry
from mosaic.fastlane.segment import SHARED_MEMORY, make_segment
from mosaic.fastlane.slot_writer import Metrics, SlotWriter
from mosaic.fastlane.viewer import View, Viewer
from mosaic.frames.hud import hud_line
from mosaic.frames.renderers import BlockRenderer
from mosaic.frames.terminal import Screen
from mosaic.frames.watching import watch

TARGET = 0.05  # of a core


def scenes(width: int, height: int, is_wild: bool) -> list[bytes]:
    """Thirty pictures, shown again and again."""
    if is_wild:
        noise = os.urandom(width * height * 3)
        return [noise[shift:] + noise[:shift] for shift in range(0, 3000, 100)]
    pictures = []
    for number in range(30):
        canvas = bytearray(b"\xc8\xd8\xff" * (width * height))
        left, top, side = number * width // 40, height // 3, width // 8
        for row in range(top, top + side):
            start = (row * width + left) * 3
            canvas[start : start + side * 3] = b"\xb0\x40\x20" * side
        pictures.append(bytes(canvas))
    return pictures


def write_forever(path: Path, width: int, height: int, is_wild: bool) -> None:
    segment = make_segment(path, Geometry.within(1, max(width, height)))
    writer = SlotWriter(segment, 0)
    pictures = scenes(width, height, is_wild)
    step = 0
    while True:
        step += 1
        metrics = Metrics(step, step // 200, 1.0, 123.4, 60.0)
        writer.publish(width, height, pictures[step % len(pictures)], metrics)
        if step == 1:
            print("ready", flush=True)
        time.sleep(1 / 90)


@contextlib.contextmanager
def written(width: int, height: int, is_wild: bool) -> Iterator[Path]:
    with tempfile.TemporaryDirectory(dir=SHARED_MEMORY, prefix="mosaic.benchmark.") as folder:
        path = Path(folder) / "segment"
        options = [f"--width={width}", f"--height={height}", f"--write={path}"]
        if is_wild:
            options.append("--wild")
        command = [sys.executable, "-m", "benchmarks.frame_viewer", *options]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as child:
            try:
                assert child.stdout is not None
                assert child.stdout.readline() == b"ready\n"
                yield path
            finally:
                child.send_signal(signal.SIGKILL)


def share_of_core(path: Path, fps: float, seconds: float, draw: Callable[[View], None]) -> float:
    """CPU seconds of this thread per second; fails when too few pictures came."""
    viewer = Viewer(path, interval_s=1 / fps)
    ends = time.monotonic() + seconds
    pictures = 0

    def show(view: View) -> bool:
        nonlocal pictures
        draw(view)
        pictures += view.picture is not None
        return time.monotonic() > ends

    def wait(duration_s: float) -> bool:
        time.sleep(max(0.0, duration_s))
        return False

    started, cpu = time.monotonic(), time.thread_time()
    watch(viewer, 1 / fps, show, wait)
    share = (time.thread_time() - cpu) / (time.monotonic() - started)
    viewer.close()
    assert pictures > 0.8 * fps * seconds, f"only {pictures} pictures came"
    return share


@contextlib.contextmanager
def terminal(columns: int, rows: int) -> Iterator[int]:
    """A pseudo-terminal whose other end is read by another thread."""
    master, slave = pty.openpty()
    fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    reader = threading.Thread(target=_drain, args=(master,), daemon=True)
    reader.start()
    yield slave
    os.close(slave)
    reader.join()
    os.close(master)


def _drain(fd: int) -> None:
    with contextlib.suppress(OSError):
        while os.read(fd, 1 << 16):
            pass


def blocks_share(path: Path, columns: int, rows: int, seconds: float) -> float:
    with terminal(columns, rows) as fd, Screen(BlockRenderer(has_true_colour=True), fd) as screen:
        return share_of_core(
            path, 30, seconds, lambda view: screen.show(view.picture, hud_line(view, "env 0"))
        )


def measure(width: int, height: int, seconds: float) -> dict[str, float]:
    shares = {}
    with written(width, height, False) as path:
        shares["poll, 60 fps"] = share_of_core(path, 60, seconds, lambda view: None)
        for columns, rows in ((80, 24), (120, 40), (200, 50)):
            name = f"blocks {columns}x{rows}, 30 fps, a moving thing"
            shares[name] = blocks_share(path, columns, rows, seconds)
    with written(width, height, True) as path:
        name = "blocks 80x24, 30 fps, all pixels change"
        shares[name] = blocks_share(path, 80, 24, seconds)
    return shares


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=4.0, help="per measurement")
    parser.add_argument("--width", type=int, default=480)
    parser.add_argument("--height", type=int, default=320)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--write", type=Path, help=argparse.SUPPRESS)  # this is the child
    parser.add_argument("--wild", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    width, height = arguments.width, arguments.height
    if arguments.write:
        write_forever(arguments.write, width, height, arguments.wild)
    shares = measure(width, height, arguments.seconds)
    if arguments.json:
        print(json.dumps(shares, indent=2))
        return
    report = Report(f"What watching frames of {width}x{height} costs the one who watches")
    for name, share in shares.items():
        report.add(name, f"{100 * share:.1f} % of a core", f"{share / TARGET:.2f} of the target")
    report.print()


if __name__ == "__main__":
    main()
