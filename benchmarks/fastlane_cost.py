"""What a frame costs: publishing it, fitting it, and a reader that asks 60 times a second."""

from __future__ import annotations

import mmap
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from benchmarks.report import Report
from mosaic.fastlane.lane import Fitter
from mosaic.fastlane.layout import Geometry
from mosaic.fastlane.segment import make_segment, segment_path
from mosaic.fastlane.slot_writer import Metrics, SlotWriter
from mosaic.fastlane.viewer import Viewer

WIDTH, HEIGHT = 600, 400
READER_S = 5.0
READER_HZ = 60.0


def best_us(function: Callable[[], object], count: int = 300, rounds: int = 7) -> float:
    best = float("inf")
    for _ in range(rounds):
        started = time.perf_counter()
        for _ in range(count):
            function()
        best = min(best, (time.perf_counter() - started) / count)
    return best * 1e6


def reader_share(path: Path, writer: SlotWriter, pixels: bytes) -> float:
    """Of a core, for a reader that gets a new frame at each look."""
    viewer, spent, looks = Viewer(path), 0.0, 0
    is_over = threading.Event()

    def write() -> None:
        while not is_over.wait(1 / READER_HZ):
            writer.publish(WIDTH, HEIGHT, pixels, Metrics())

    thread = threading.Thread(target=write)
    thread.start()
    started = time.perf_counter()
    while time.perf_counter() - started < READER_S:
        before = time.thread_time()
        viewer.poll()
        spent += time.thread_time() - before
        looks += 1
        time.sleep(max(0.0, started + looks / READER_HZ - time.perf_counter()))
    wall = time.perf_counter() - started
    is_over.set()
    thread.join()
    viewer.close()
    return spent / wall


def main() -> int:
    path = segment_path("benchmark")
    path.unlink(missing_ok=True)
    segment = make_segment(path, Geometry.within(1, 1000))
    try:
        frame = np.random.default_rng(0).integers(0, 256, (HEIGHT, WIDTH, 3), np.uint8)
        pixels = frame.tobytes()
        writer = SlotWriter(segment, 0)
        plain = mmap.mmap(-1, len(pixels))
        copying = best_us(lambda: plain.__setitem__(slice(0, len(pixels)), pixels))
        publishing = best_us(lambda: writer.publish(WIDTH, HEIGHT, pixels, Metrics()))
        updating = best_us(lambda: writer.update(Metrics()))
        fitter = Fitter(480, 10**9)
        fitting = best_us(lambda: fitter(frame), count=50)
        by_index = best_us(
            lambda: np.ascontiguousarray(
                frame[
                    (np.arange(320) * 1.25).astype(int)[:, None],
                    (np.arange(480) * 1.25).astype(int),
                ]
            ),
            count=50,
        )
        share = reader_share(path, writer, pixels)
    finally:
        segment.close()
        path.unlink()
    report = Report(f"FastLane, frames of {WIDTH}x{HEIGHT}")
    against = f"{publishing / copying:.2f} of a bare copy into mapped memory ({copying:.0f} us)"
    report.add("publish a frame with its metrics", f"{publishing:.0f} us", against)
    report.add("publish metrics alone", f"{updating:.1f} us", "")
    against = f"{by_index / fitting:.1f}x as fast as indexing rows and columns ({by_index:.0f} us)"
    report.add("thin a frame to 480x320", f"{fitting:.0f} us", against)
    report.add(f"reader at {READER_HZ:.0f} fps", f"{share:.1%} of a core", "target 5 %")
    report.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
