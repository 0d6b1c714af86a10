"""Whether the workbench grows while it is used, and what it costs to leave it open.

    python -m benchmarks.gui_long_use [--minutes 2] [--warm-up 5] [--json]

A real window (without a screen: Qt's offscreen platform draws as always) over a home of its own
with a daemon, runs that are over, one that failed and a training that goes on. It is driven through
all pages, tabs, selections, forms and cards, again and again, for the time given. After each lap,
in the same place and with nothing under way, it is counted what the window's process has: resident
memory, what of it malloc and Python have handed out (which no fragmentation touches), objects,
threads, files. Caches, fonts and pages that are made once fill in the laps of the warm-up; through
the laps after it goes a line, and its slope is told with an interval of 95 %: what cannot grow by
more than a hundredth in an hour is steady, and what grows for certain is called so. Types whose
objects became more are listed. CPU time is that of the window's process, too: in front of a run
that is over, and watching the training's pictures.
"""

from __future__ import annotations

import argparse
import ctypes
import dataclasses
import gc
import json
import math
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path

os.environ["QT_QPA_PLATFORM"] = "offscreen"

from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from benchmarks.report import Report
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.contracts.run_record import RunRecord
from mosaic.gui.application import Application
from mosaic.gui.state.targets import FormTarget, Mode, Operation, Page, ReplayTarget
from mosaic.paths import Home

CPU_S = 10.0
STEADY = 0.01  # of what there is, in an hour
_WAIT_S = 120.0
_STEP_S = 0.12
_QUIET_S = 0.5  # until what was under way has arrived
_PAGE = os.sysconf("SC_PAGE_SIZE")
_MOST_TYPES = 8


class _Malloc(ctypes.Structure):
    """`struct mallinfo2` of glibc."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


@dataclass
class Holdings:
    """What the window's process has at a moment."""

    minutes: float
    resident_mb: float
    malloc_mb: float  # handed out; 0 where the C library does not say
    python_blocks: int
    objects: int  # that Python's collector knows
    run_records: int
    threads: int
    files: int


MEASURED = tuple(one.name for one in dataclasses.fields(Holdings) if one.name != "minutes")


@dataclass
class Trend:
    """Of the line that fits best, by the hour."""

    slope: float
    error: float  # half of its interval of 95 %

    def verdict(self, value: float) -> str:
        """Of something that is so large."""
        most = self.slope + self.error
        if most <= value * STEADY:
            return f"steady: at most {100 * most / value if value else 0:+.1f} % an hour"
        return "grows" if self.slope > self.error else "undecided: measure for longer"


@dataclass
class Figures:
    minutes: float
    warm_up: int
    laps: list[Holdings] = field(default_factory=list)  # the first is before the first lap
    trends: dict[str, Trend] = field(default_factory=dict)
    grown_types: dict[str, int] = field(default_factory=dict)
    cpu_idle_percent: float = 0.0
    cpu_watching_percent: float = 0.0


def malloc_mb() -> float:
    """What is free is given back to the system first."""
    library = ctypes.CDLL(None)
    try:
        library.malloc_trim(0)
        library.mallinfo2.restype = _Malloc
        found = library.mallinfo2()
    except AttributeError:
        return 0.0
    return float(found.uordblks + found.hblkhd) / 1e6


def types() -> Counter[str]:
    return Counter(f"{type(one).__module__}.{type(one).__name__}" for one in gc.get_objects())


def holdings(minutes: float, counts: Counter[str]) -> Holdings:
    malloc = malloc_mb()
    return Holdings(
        minutes=minutes,
        resident_mb=int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE / 1e6,
        malloc_mb=malloc,
        python_blocks=sys.getallocatedblocks(),
        objects=counts.total(),
        run_records=counts[f"{RunRecord.__module__}.{RunRecord.__name__}"],
        threads=len(os.listdir("/proc/self/task")),
        files=len(os.listdir("/proc/self/fd")),
    )


def trend(minutes: list[float], values: list[float]) -> Trend:
    """By least squares. Less than three points say nothing."""
    count = len(minutes)
    if count < 3:
        return Trend(0.0, math.inf)
    middle, mean = sum(minutes) / count, sum(values) / count
    spread = sum((at - middle) ** 2 for at in minutes)
    pairs = list(zip(minutes, values, strict=True))
    slope = sum((at - middle) * (value - mean) for at, value in pairs) / spread
    rest = sum((value - mean - slope * (at - middle)) ** 2 for at, value in pairs)
    error = math.sqrt(rest / (count - 2) / spread)
    # Student's t for 95 %, well enough.
    return Trend(60 * slope, 60 * error * (1.96 + 2.4 / (count - 2) + 8 / (count - 2) ** 3))


class SampleRuns:
    """A daemon with runs, over the command line as anybody would make them."""

    def __init__(self, folder: Path) -> None:
        self.home = Home(folder / "home")
        self._environment = {**os.environ, "MOSAIC_HOME": str(self.home.root)}
        self.mosaic("daemon", "start")
        over = [
            *self._train("ppo", "8_000", "--seeds", "1..2"),
            *self._train("dqn", "3_000", "--set", "learning_starts=500"),
        ]
        failed = self.mosaic("watch", "--detach", "--", sys.executable, "-c", "raise SystemExit(3)")
        self.over, self.failed = over, failed.split()[-1]
        for run_id in (*over, self.failed):
            self._wait_over(run_id)
        (self.live,) = self._train("ppo", "100_000_000", "--set", "num_envs=4")

    def close(self) -> None:
        self.mosaic("daemon", "stop", "--kill-runs")

    def mosaic(self, *words: str) -> str:
        command = [sys.executable, "-m", "mosaic.cli", *words]
        done = subprocess.run(
            command, env=self._environment, check=True, capture_output=True, text=True
        )
        return done.stdout

    def _train(self, algorithm: str, steps: str, *words: str) -> list[str]:
        told = self.mosaic(
            "train", "--detach", algorithm, "CartPole-v1", "--total-timesteps", steps, *words
        )
        return told.split()

    def _wait_over(self, run_id: str) -> None:
        end = time.monotonic() + _WAIT_S
        while time.monotonic() < end:
            states = {
                run["run_id"]: run["state"]
                for run in json.loads(self.mosaic("runs", "--all", "--json"))
            }
            if states[run_id] == "TERM":
                return
            time.sleep(0.3)
        raise TimeoutError(f"{run_id} is not over after {_WAIT_S:g} s")


class Driver:
    """Uses the window as somebody would who is never satisfied."""

    def __init__(self, qt: QApplication, runs: SampleRuns) -> None:
        home = runs.home
        self._runs = runs
        self.application = Application(
            qt, home, lambda: AsyncTrainerClient(home, autostart=False), theme_name="dark"
        )
        self._window, self._state = self.application.window, self.application.state
        self.application.start()
        self.until(lambda: bool(self._state.workers and self._state.environments))
        self.until(lambda: runs.live in self._state.runs)

    def spend(self, seconds: float) -> None:
        loop = QEventLoop()
        QTimer.singleShot(int(seconds * 1000), loop.quit)
        loop.exec()

    def until(self, is_so: Callable[[], bool], seconds: float = _WAIT_S) -> None:
        end = time.monotonic() + seconds
        while not is_so() and time.monotonic() < end:
            self.spend(0.02)

    def idle(self) -> None:
        self._select(self._runs.over[0])
        self._state.show_page(Page.LIVE)
        self.spend(2)

    def watch(self) -> None:
        self._select(self._runs.live)
        self._state.show_page(Page.LIVE)
        self.spend(3)

    def lap(self) -> Iterator[None]:
        """Everything once, step by step."""
        for use in (self._tabs, self._pages, self._forms, self._cards, self._places):
            for step in use():
                step()
                self.spend(_STEP_S)
                yield

    def _tabs(self) -> Iterator[Callable[[], None]]:
        panel = self._window.tabs_panel
        for run_id in (*self._runs.over, self._runs.failed, self._runs.live):
            yield lambda run_id=run_id: self._select(run_id)  # type: ignore[misc]
            for tab_id in panel.tab_ids:
                yield lambda tab_id=tab_id: panel.show_tab(tab_id)  # type: ignore[misc]
        yield lambda: self._state.select([*self._runs.over, self._runs.live])
        yield lambda: panel.show_tab("charts")

    def _pages(self) -> Iterator[Callable[[], None]]:
        state, over = self._state, self._runs.over
        yield lambda: state.show_page(Page.WELCOME)
        yield lambda: state.compare(over)
        yield lambda: self.spend(1)
        yield lambda: state.show_replay(ReplayTarget(over[0]))
        yield lambda: self.spend(2)
        yield lambda: state.show_page(Page.LIVE)
        yield self.watch

    def _forms(self) -> Iterator[Callable[[], None]]:
        state = self._state
        for mode in Mode:
            yield lambda mode=mode: state.set_mode(mode)  # type: ignore[misc]
        for algorithm in ("ppo", "dqn", "c51"):
            target = FormTarget(Operation.TRAIN, values={"algo": algorithm})
            yield lambda target=target: state.ask_form(target)  # type: ignore[misc]
        yield lambda: self.application.workbench.run_actions.evaluate(self._runs.over[0])
        yield lambda: state.ask_form(FormTarget(Operation.TRAIN, values={"algo": "ppo"}))

    def _cards(self) -> Iterator[Callable[[], None]]:
        window, trigger = self._window, self.application.workbench.commands.trigger
        for command, card in (
            ("help.palette", window.palette_overlay),
            ("help.shortcuts", window.shortcuts_overlay),
            ("help.about", window.about_overlay),
        ):
            yield lambda command=command: trigger(command)  # type: ignore[misc]
            yield card.dismiss
        for is_open in (True, False):
            yield lambda is_open=is_open: window.runs_panel.show_logs(is_open)  # type: ignore[misc]
        for words in ("ppo", ""):
            yield lambda words=words: window.runs_panel.filter_field.setText(words)  # type: ignore[misc]

    def _places(self) -> Iterator[Callable[[], None]]:
        window, trigger = self._window, self.application.workbench.commands.trigger
        for width, height in ((900, 700), (1280, 800)):
            yield lambda width=width, height=height: window.resize(width, height)  # type: ignore[misc]
        for command in ("view.window.tab", "view.window.centre", "view.window.dock"):
            yield lambda command=command: trigger(command)  # type: ignore[misc]
        for theme in ("light", "dark"):
            yield lambda theme=theme: self.application.theme.choose(theme)  # type: ignore[misc]

    def _select(self, run_id: str) -> None:
        self._state.select([run_id])
        self.until(lambda: self._state.details is not None, 10)


def cpu_percent(driver: Driver, seconds: float) -> float:
    before, began = time.process_time(), time.monotonic()
    driver.spend(seconds)
    return 100 * (time.process_time() - before) / (time.monotonic() - began)


@contextmanager
def driven() -> Iterator[Driver]:
    with tempfile.TemporaryDirectory(prefix="mosaic-benchmark-") as folder:
        runs = SampleRuns(Path(folder))
        try:
            driver = Driver(QApplication(sys.argv[:1]), runs)
            try:
                yield driver
            finally:
                driver.application.close()
        finally:
            runs.close()


def measure(minutes: float, warm_up: int, say: Callable[[str], None]) -> Figures:
    figures = Figures(minutes, warm_up)
    with driven() as driver:
        for _ in driver.lap():  # every page and tab is made once
            pass
        driver.idle()
        figures.cpu_idle_percent = cpu_percent(driver, CPU_S)
        driver.watch()
        figures.cpu_watching_percent = cpu_percent(driver, CPU_S)
        driver.idle()
        began = time.monotonic()
        counts = counted(figures, driver, began)
        warm = counts
        while figures.laps[-1].minutes < minutes:
            for _ in driver.lap():
                pass
            driver.idle()  # always in the same place: the pages themselves differ in what they hold
            counts = counted(figures, driver, began)
            if len(figures.laps) - 1 == warm_up:
                warm = counts
            last = figures.laps[-1]
            say(
                f"lap {len(figures.laps) - 1:3}  {last.minutes:5.1f} min  "
                f"{last.resident_mb:6.1f} MB resident  {last.malloc_mb:6.1f} MB malloc  "
                f"{last.python_blocks} blocks  {last.objects} objects  "
                f"{last.run_records} records  {last.threads} threads  {last.files} files"
            )
    after = figures.laps[warm_up:]
    at = [lap.minutes for lap in after]
    figures.trends = {
        name: trend(at, [float(getattr(lap, name)) for lap in after]) for name in MEASURED
    }
    # One more or less is where the training is just now; a leak is one in each lap.
    figures.grown_types = {
        name: count
        for name, count in (counts - warm).most_common(_MOST_TYPES)
        if count > len(after)
    }
    return figures


def counted(figures: Figures, driver: Driver, began: float) -> Counter[str]:
    """With nothing under way: records that have come meanwhile wait in queues."""
    gc.collect()
    driver.spend(_QUIET_S)
    gc.collect(1)
    counts = types()
    figures.laps.append(holdings((time.monotonic() - began) / 60, counts))
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=2.0, help="of use (default 2)")
    parser.add_argument("--warm-up", type=int, default=5, help="laps left out (default 5)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    figures = measure(
        arguments.minutes,
        arguments.warm_up,
        lambda line: print(line, file=sys.stderr, flush=True),
    )
    if arguments.json:
        print(json.dumps(asdict(figures), indent=2))
        return
    laps = len(figures.laps) - 1
    report = Report(f"{arguments.minutes:g} minutes of use, {laps} laps through everything")
    warm, last = figures.laps[min(figures.warm_up, laps)], figures.laps[-1]
    for name, found in figures.trends.items():
        before, after = (float(getattr(lap, name)) for lap in (warm, last))
        report.add(
            f"{name}: {before:.6g} after the warm-up, {after:.6g} at last",
            f"{found.slope:+.3g} ± {found.error:.2g} an hour",
            found.verdict(before),
        )
    grown = ", ".join(f"{name} +{count}" for name, count in figures.grown_types.items())
    report.add("types with more objects, by more than one a lap", grown or "none", "")
    idle, watching = figures.cpu_idle_percent, figures.cpu_watching_percent
    report.add("CPU in front of a run that is over", f"{idle:.1f} %", "of one core")
    report.add("CPU while watching a training", f"{watching:.1f} %", "of one core")
    report.print()


if __name__ == "__main__":
    main()
