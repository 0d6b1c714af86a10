"""The live view at natural speed: pictures a second that are really painted, and what the training
keeps of its speed meanwhile.

    python -m benchmarks.natural_speed [cart_pole lunar_lander pong half_cheetah] [--envs 1 8]
        [--pairs 6] [--seconds 10]

A real training of a real daemon, and the real window (without a screen). In turn, the window shows
the live page for so many seconds and another page for as many: the helper process is there or not.
Speeds are steps a second by the clock, from the first to the last iteration within a phase; what
starting the helper takes is left out by waiting until it shows something. The ratio is the mean
over the pairs, with the interval that holds the true one in 95 of 100 cases. The CPU time of helper
and window says where a difference comes from. Target: >= 30 pictures a second at >= 0.97 of the
training's speed, with two cores. A pair takes about 25 s, all of it about 25 minutes.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")

import psutil
from PySide6.QtCore import QEventLoop, QTimer
from PySide6.QtWidgets import QApplication

from benchmarks.report import Report
from mosaic.client.async_trainer_client import AsyncTrainerClient
from mosaic.gui.application import Application
from mosaic.gui.live.model.natural import ViewKind
from mosaic.gui.live.page import LivePage
from mosaic.gui.state.targets import Page
from tests.daemon_harness import DaemonHarness, running_daemon

TARGET_PICTURES, TARGET_RATIO = 30, 0.97
SIZE = (1280, 800)
WAIT_S = 180.0
SETTLE_S = 2.0
ITERATION = "charts/SPS"  # is told at the end of each
# Student's t, for an interval of 95 %, by degrees of freedom.
_T = {
    1: 12.71,
    2: 4.30,
    3: 3.18,
    4: 2.78,
    5: 2.57,
    6: 2.45,
    7: 2.36,
    8: 2.31,
    9: 2.26,
    11: 2.20,
    19: 2.09,
}


@dataclass(frozen=True)
class Case:
    algo: str
    env_id: str
    values: dict[str, int] = field(default_factory=dict)


CASES = {
    "cart_pole": Case("ppo", "CartPole-v1"),
    "lunar_lander": Case("ppo", "LunarLander-v3"),
    "pong": Case("ppo_atari", "PongNoFrameskip-v4", {"num_steps": 32}),
    "half_cheetah": Case("ppo_continuous_action", "HalfCheetah-v4", {"num_steps": 512}),
}


class Phase(NamedTuple):
    is_watched: bool
    began: float  # by the clock on the wall, as in the journal
    ended: float
    pictures: float = 0.0  # a second
    helper: float = 0.0  # CPU time, as a share of a core
    window: float = 0.0


class Measured(NamedTuple):
    pictures: float
    speed: float  # without the view
    ratios: list[float]
    helper: float
    window: float


def wait(seconds: float) -> None:
    loop = QEventLoop()
    QTimer.singleShot(int(seconds * 1000), loop.quit)
    loop.exec()


def wait_for(is_so: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + WAIT_S
    while not is_so():
        if time.monotonic() > end:
            raise TimeoutError(what)
        wait(0.05)


def cpu_s(pid: int | None) -> float:
    if pid is None:
        return 0.0
    times = psutil.Process(pid).cpu_times()
    return float(times.user + times.system)


def unwatched(application: Application, seconds: float) -> Phase:
    application.state.show_page(Page.WELCOME)
    wait(SETTLE_S)
    began = time.time()
    wait(seconds)
    return Phase(False, began, time.time())


def watched(application: Application, page: LivePage, seconds: float) -> Phase:
    application.state.show_page(Page.LIVE)
    wait_for(lambda: page.watching.shown is not None, "no episode is shown")
    wait(SETTLE_S)
    before = page.canvas.painted_pictures, cpu_s(page.watching.helper_pid), cpu_s(os.getpid())
    began = time.time()
    wait(seconds)
    ended = time.time()
    took = ended - began
    return Phase(
        True,
        began,
        ended,
        (page.canvas.painted_pictures - before[0]) / took,
        (cpu_s(page.watching.helper_pid) - before[1]) / took,
        (cpu_s(os.getpid()) - before[2]) / took,
    )


def iterations(journal: Path) -> list[tuple[float, int]]:
    """When each one ended, and after how many steps."""
    found = []
    with journal.open() as lines:
        for line in lines:
            if ITERATION in line and line.endswith("\n"):
                event: dict[str, Any] = json.loads(line)
                found.append((float(event["timestamp"]), int(event["step"])))
    return found


def speed_in(phase: Phase, ends: list[tuple[float, int]]) -> float:
    within = [end for end in ends if phase.began <= end[0] <= phase.ended]
    if len(within) < 2:
        raise ValueError("a phase without iterations: give it more --seconds")
    (first, before), (last, after) = within[0], within[-1]
    return (after - before) / (last - first)


def submitted(daemon: DaemonHarness, case: Case, num_envs: int) -> str:
    config = {
        "algo": case.algo,
        "env_id": case.env_id,
        "total_timesteps": 1_000_000_000,
        "seed": 1,
        "extras": {"algo_params": {"num_envs": num_envs, **case.values}},
    }
    return daemon.submit(
        entry_point="cleanrl",
        resources={"cpus": 1, "memory_mb": 2048},
        metadata={"worker": {"config": config}},
    )


def measure(qt: QApplication, case: Case, num_envs: int, pairs: int, seconds: float) -> Measured:
    with running_daemon() as daemon:
        run_id = submitted(daemon, case, num_envs)
        application = Application(
            qt, daemon.home, lambda: AsyncTrainerClient(daemon.home, autostart=False)
        )
        try:
            application.window.resize(*SIZE)
            application.start()
            state = application.state
            wait_for(lambda: run_id in state.runs, "the run is not listed")
            state.select([run_id])
            state.show_page(Page.LIVE)
            page = application.window.stage.page(Page.LIVE)
            assert isinstance(page, LivePage)
            page.view.button(ViewKind.NATURAL.value).click()
            phases: list[Phase] = []
            for _ in range(pairs):
                phases.append(watched(application, page, seconds))
                phases.append(unwatched(application, seconds))
        finally:
            application.close()
        ends = iterations(daemon.home.run(run_id).journal)
        daemon.client.stop_run(run_id)
        daemon.wait_over(run_id)
    speeds = [speed_in(phase, ends) for phase in phases]
    seen = [phase for phase in phases if phase.is_watched]
    return Measured(
        statistics.mean(phase.pictures for phase in seen),
        statistics.mean(speeds[1::2]),
        [on / off for on, off in zip(speeds[::2], speeds[1::2], strict=True)],
        statistics.mean(phase.helper for phase in seen),
        statistics.mean(phase.window for phase in seen),
    )


def half_width(ratios: list[float]) -> float:
    """Of the interval around their mean."""
    if len(ratios) < 2:
        return float("nan")
    quantile = _T[max(known for known in _T if known < len(ratios))]
    return float(quantile * statistics.stdev(ratios) / len(ratios) ** 0.5)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0] if __doc__ else "")
    parser.add_argument("cases", nargs="*", choices=[[], *CASES], default=[])
    parser.add_argument("--envs", type=int, nargs="*", default=[1, 8])
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    qt = QApplication(sys.argv[:1])
    report = Report(
        f"natural speed; target >= {TARGET_PICTURES} pictures/s at >= {TARGET_RATIO} of the speed; "
        f"load before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores"
    )
    for name in arguments.cases or CASES:
        for num_envs in arguments.envs:
            found = measure(qt, CASES[name], num_envs, arguments.pairs, arguments.seconds)
            report.add(
                f"{CASES[name].env_id}, {num_envs} environment{'s' if num_envs > 1 else ''}",
                f"{found.pictures:.1f} pictures/s; helper {found.helper:.0%}, window "
                f"{found.window:.0%} of a core",
                f"{statistics.mean(found.ratios):.3f} ± {half_width(found.ratios):.3f} of "
                f"{found.speed:,.0f} steps/s",
            )
            print(report.rows[-1], file=sys.stderr, flush=True)
    report.print()
    return 0


if __name__ == "__main__":
    sys.exit(main())
