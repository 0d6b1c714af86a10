"""Runs that are watched while any of their processes is killed (faults 6 and 7)."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import psutil
import pytest

from mosaic.contracts.run_files import LiveRecord
from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.viewer import Viewer
from mosaic.files import read_json
from mosaic.processes import send_signal
from tests.chaos.chaos_daemon import ChaosDaemon, chaos_daemon
from tests.chaos.descendants import is_running
from tests.chaos.figures import record
from tests.chaos.live_runs import (
    SCRIPT,
    SCRIPT_WITH_PROCESSES,
    TRAINING,
    TRAINING_IN_PROCESSES,
    FramesProcess,
    Kind,
    is_whole,
    shared_memory_of,
)
from tests.waiting import wait_until

pytestmark = pytest.mark.chaos

WORKER, CHILD, VIEWER, HOST, DAEMON = VICTIMS = ("worker", "child", "viewer", "host", "daemon")
HARMLESS = (VIEWER, DAEMON)  # to the training
ALONE = [SCRIPT, TRAINING, SCRIPT_WITH_PROCESSES, TRAINING_IN_PROCESSES]
WITH_CHILDREN = [SCRIPT_WITH_PROCESSES, TRAINING_IN_PROCESSES]
STEPS = {SCRIPT: 1500, SCRIPT_WITH_PROCESSES: 1200, TRAINING: 1024, TRAINING_IN_PROCESSES: 2560}
BATCH = 10
ONE_AT_A_TIME = threading.Lock()  # several threads kill, and there is only one daemon


@dataclass
class Trial:
    """A run, who watches it, and who of them shall die how long after it was begun."""

    kind: Kind
    victim: str
    delay_s: float
    run_id: str = ""
    began: float = 0.0
    viewers: list[FramesProcess] = field(default_factory=list)
    has_killed: bool = False


def make_trials(chance: random.Random, count: int) -> list[Trial]:
    trials = []
    for number in range(count):
        victim = VICTIMS[number % len(VICTIMS)]
        kinds = WITH_CHILDREN if victim == CHILD else ALONE
        kind = kinds[number // len(VICTIMS) % len(kinds)]
        trials.append(Trial(kind, victim, chance.uniform(0.3, 3.2)))
    return trials


class Onlooker(threading.Thread):
    """Reads the frames of every second run in this process too: its viewer is never killed."""

    def __init__(self, run_ids: list[str]) -> None:
        super().__init__()
        self.whole = self.torn = 0
        self._viewers = [Viewer(segment_path(run_id), slot_count=4) for run_id in run_ids]
        self._ended = threading.Event()
        self.start()

    def run(self) -> None:
        while not self._ended.wait(0.01):
            for viewer in self._viewers:
                picture = viewer.poll().picture
                if picture is not None:
                    self.whole += is_whole(picture)
                    self.torn += not is_whole(picture)

    def end(self) -> None:
        self._ended.set()
        self.join()
        for viewer in self._viewers:
            viewer.close()


def kill_daemon(daemon: ChaosDaemon) -> None:
    """Whoever serves now. The next one is started by us or by a viewer, whoever comes first."""
    serving = wait_until(lambda: serving_process(daemon), 20, "a daemon to kill")
    assert serving is not None
    serving.kill()
    if daemon.process is not None:
        daemon.process.wait(10)  # it is that one, or it found that one and left
    daemon.launch()


def regain(daemon: ChaosDaemon) -> None:
    """With nobody watching any more: the daemon is one that we started."""
    # One that a viewer started may be on its way still, and come before ours.
    for _ in range(10):
        serving = wait_until(lambda: serving_process(daemon), 20, "a daemon")
        assert serving is not None and daemon.process is not None
        if serving.pid == daemon.process.pid:
            return
        daemon.process.wait(10)
        serving.kill()
        daemon.launch()
    raise AssertionError("our daemon is never the one that serves")


def serving_process(daemon: ChaosDaemon) -> psutil.Process | None:
    pid = (read_json(daemon.home.daemon_info) or {}).get("pid")
    with contextlib.suppress(psutil.Error):
        if pid is not None and is_running(pid):
            process = psutil.Process(pid)
            return process if str(daemon.home.root) in process.cmdline() else None
    return None


def strike(daemon: ChaosDaemon, trial: Trial) -> None:
    time.sleep(max(0.0, trial.began + trial.delay_s - time.monotonic()))
    trial.has_killed = kill_victim(daemon, trial)


def kill_victim(daemon: ChaosDaemon, trial: Trial) -> bool:
    if trial.victim == DAEMON:
        with ONE_AT_A_TIME:
            kill_daemon(daemon)
        return True
    if trial.victim == VIEWER:
        trial.viewers[-1].kill()
        # Another one comes, as a user who closed the window by mistake.
        was_killed = trial.viewers[-1].was_killed
        trial.viewers.append(FramesProcess(daemon, trial.run_id))
        return was_killed
    live = wait_until(lambda: newest_live(daemon, trial.run_id), 60, "a run host")
    assert live is not None
    if trial.victim in (WORKER, HOST):
        return send_signal(live.worker if trial.victim == WORKER else live.host, signal.SIGKILL)
    with contextlib.suppress(psutil.NoSuchProcess):
        child = wait_until(lambda: environment_process(live.worker.pid), 20, "an environment")
        assert child is not None
        child.kill()
        return True
    return False


def newest_live(daemon: ChaosDaemon, run_id: str) -> LiveRecord | None:
    """Of whichever attempt began: a daemon that is killed before it has started the first one
    leaves that to the next daemon, which makes another.
    """
    folders = daemon.attempt(run_id).live.parents[1].glob("[0-9]*")
    for number in sorted((int(path.name) for path in folders), reverse=True):
        if found := read_json(daemon.attempt(run_id, number).live):
            return LiveRecord.from_dict(found)
    return None


def environment_process(worker_pid: int) -> psutil.Process | None:
    """One that steps environments: nobody below it, somebody of the run's above it."""
    below = psutil.Process(worker_pid).children(recursive=True)
    leaves = [process for process in below if not process.children() and is_stepping(process)]
    return leaves[0] if leaves else None


def is_stepping(process: psutil.Process) -> bool:
    """It has opened the segment."""
    with contextlib.suppress(psutil.Error, OSError):
        links = [f"/proc/{process.pid}/fd/{name}" for name in os.listdir(f"/proc/{process.pid}/fd")]
        return any("mosaic.fastlane" in os.readlink(link) for link in links)
    return False


def hold(daemon: ChaosDaemon, trials: list[Trial]) -> Onlooker:
    """Starts a batch, kills whom it has to, and waits for the rest."""
    for trial in trials:
        trial.began = time.monotonic()
        trial.run_id = trial.kind.submit(daemon, STEPS[trial.kind])
        trial.viewers.append(FramesProcess(daemon, trial.run_id))
    onlooker = Onlooker([trial.run_id for trial in trials[::2]])
    try:
        with ThreadPoolExecutor(len(trials)) as pool:
            list(pool.map(lambda trial: strike(daemon, trial), trials))
        for trial in trials:
            daemon.wait_over(trial.run_id, 90)
            for viewer in trial.viewers:
                viewer.wait(30)
    finally:
        onlooker.end()
        for trial in trials:
            for viewer in trial.viewers:
                viewer.close()
    regain(daemon)
    return onlooker


def test_no_torn_frame_and_nothing_left_whoever_is_killed() -> None:
    trials = make_trials(random.Random(7), 50)
    whole = torn = own = 0
    with chaos_daemon() as daemon:
        for start in range(0, len(trials), BATCH):
            onlooker = hold(daemon, trials[start : start + BATCH])
            own, torn = own + onlooker.whole, torn + onlooker.torn
        for trial in trials:
            run = daemon.client.get_run(trial.run_id)
            if trial.victim in HARMLESS:
                trial.kind.assert_complete(daemon, trial.run_id, STEPS[trial.kind])
            elif trial.has_killed:
                assert run.outcome == "failed", f"{run.run_name} without its {trial.victim}"
            for viewer in trial.viewers:
                pictures = [is_whole(picture) for picture in viewer.pictures()]
                whole, torn = whole + sum(pictures), torn + pictures.count(False)
        left = shared_memory_of([trial.run_id for trial in trials])
    viewers = [viewer for trial in trials for viewer in trial.viewers]
    lost = [viewer for viewer in viewers if viewer.process.returncode == 8]
    kills = Counter(trial.victim for trial in trials if trial.has_killed)
    record(
        "6",
        f"live frames — {len(trials)} runs, {kills.total()} kills "
        f"({', '.join(f'{kills[victim]} {victim}' for victim in VICTIMS)}): {whole} pictures in "
        f"{len(viewers)} `mosaic frames` ({len(lost)} found no daemon in time) and {own} in a "
        f"reader of our own, {torn} torn, {len(left)} names left in /dev/shm, 0 processes left",
    )
    assert torn == 0
    assert left == []
    assert min(whole, own) > 20  # how many they see is a matter of what else the machine does
    assert kills.total() >= 40
    assert len(lost) <= 5  # on a busy machine a daemon may take longer to start than they wait


def test_frames_survive_whoever_watches_them() -> None:
    """Fault 7: a reader's death took the segment with it."""
    restarts = 20
    seen = torn = 0
    with chaos_daemon() as daemon:
        run_id = SCRIPT.submit(daemon, 10**9)
        for number in range(restarts):
            viewer = FramesProcess(daemon, run_id)
            wait_until(viewer.has_shown, 30, "a picture")
            inode = segment_path(run_id).stat().st_ino
            if number % 2:
                viewer.kill()
            else:
                viewer.quit()
            viewer.wait()
            pictures = [is_whole(picture) for picture in viewer.pictures()]
            seen, torn = seen + bool(pictures), torn + pictures.count(False)
            assert segment_path(run_id).stat().st_ino == inode
        assert not daemon.client.get_run(run_id).is_over
    record("7", f"viewers that end or are killed — {seen}/{restarts} saw frames, {torn} torn")
    assert (seen, torn) == (restarts, 0)
