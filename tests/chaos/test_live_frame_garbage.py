"""Segments full of garbage, or none at all: viewers say so, trainings do not mind (fault 6)."""

from __future__ import annotations

import subprocess
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import pytest

from mosaic.fastlane.segment import segment_path
from mosaic.fastlane.viewer import Viewer
from tests.chaos import segment_damage
from tests.chaos.chaos_daemon import ChaosDaemon, chaos_daemon
from tests.chaos.figures import record
from tests.chaos.live_runs import (
    SCRIPT,
    TRAINING,
    FramesProcess,
    Kind,
    is_whole,
    shared_memory_of,
    told,
)
from tests.chaos.segment_damage import IN_THE_WAY, TO_A_SEGMENT, Damage

pytestmark = pytest.mark.chaos

AT_ONCE = 7
STEPS = 5000
FOREIGN = b"somebody else's\n" * 100
MOST_MB = 400  # an interpreter with gRPC needs 60
NO_VIEW = "no live view"


class Answer(NamedTuple):
    status: int
    text: str
    memory_mb: float


def ask(daemon: ChaosDaemon, run_id: str, *words: str) -> Answer:
    """`mosaic frames` without a terminal, and what it takes."""
    with tempfile.TemporaryFile() as output:
        process = subprocess.Popen(
            daemon.mosaic("frames", run_id, *words, "--wait", "2"),
            env={**daemon.environment, "PYTHONWARNINGS": "error"},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
        )
        most_mb = 0.0
        deadline = time.monotonic() + 60
        while process.poll() is None:
            if time.monotonic() > deadline:
                process.kill()
                process.wait()
                raise AssertionError(f"{words}: it hangs")
            most_mb = max(most_mb, resident_mb(process.pid))
            time.sleep(0.01)
        output.seek(0)
        return Answer(process.returncode, output.read().decode(), most_mb)


def resident_mb(pid: int) -> float:
    """At most so far. What `wait4` says includes the memory of who started it."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) / 1024
    return 0.0  # it has just ended


# What is written among the pixels of a whole frame is shown: nobody could tell.
AMONG_PIXELS = (
    segment_damage.random_bytes_everywhere,
    segment_damage.random_bytes_behind_the_header,
)


class Trial:
    """One run whose segment is damaged, and all who look at it."""

    def __init__(self, daemon: ChaosDaemon, damage: Damage, kind: Kind, folder: Path) -> None:
        self._daemon, self._damage, self._kind, self._folder = daemon, damage, kind, folder
        self._foreign = folder / "foreign"
        self._foreign.write_bytes(FOREIGN)
        self.name = f"{kind.worker}: {damage.__name__}"
        self.run_id = kind.submit(daemon, STEPS)
        self.path = segment_path(self.run_id)
        self.answers: list[Answer] = []
        self.statuses: Counter[str] = Counter()

    def damaged_in_use(self) -> None:
        before = FramesProcess(self._daemon, self.run_id)
        try:
            before.wait_for("\x1b_Ga=T")
            self._damage(self.path, self._foreign)
            self._look()
        finally:
            before.quit()
            assert before.wait() == 0
        if self._damage not in AMONG_PIXELS:
            assert all(is_whole(picture) for picture in before.pictures()), self.name
        self._end()

    def damaged_before(self) -> None:
        self._damage(self.path, self._foreign)
        self._look()
        self._end()
        assert NO_VIEW in told(self._daemon, self.run_id), self.name

    def _look(self) -> None:
        live = FramesProcess(self._daemon, self.run_id)
        viewer = Viewer(self.path, slot_count=4)
        for _ in range(200):
            self.statuses[viewer.poll().status] += 1
            time.sleep(0.002)
        viewer.close()
        for words in (("--png", str(self._folder / "a.png")), ("--once", "--style", "ascii")):
            answer = ask(self._daemon, self.run_id, *words)
            assert answer.status in (0, 5), f"{self.name}: {answer}"
            assert "Traceback" not in answer.text, f"{self.name}: {answer.text}"
            assert answer.status == 0 or answer.text.startswith("mosaic: "), answer.text
            assert answer.memory_mb < MOST_MB, f"{self.name}: {answer.memory_mb} MB"
            self.answers.append(answer)
        live.quit()
        assert live.wait() == 0, self.name

    def _end(self) -> None:
        self._daemon.wait_over(self.run_id, 90)
        self._kind.assert_complete(self._daemon, self.run_id, STEPS)
        assert self._foreign.read_bytes() == FOREIGN, f"{self.name}: it wrote into another file"


def hold(daemon: ChaosDaemon, damages: tuple[Damage, ...], root: Path, early: bool) -> list[Trial]:
    def one(number: int) -> Trial:
        folder = root / f"{early}-{number}"
        folder.mkdir()
        kind = TRAINING if number % 4 == 3 else SCRIPT
        trial = Trial(daemon, damages[number], kind, folder)
        if early:
            trial.damaged_before()
        else:
            trial.damaged_in_use()
        return trial

    with ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(one, range(len(damages))))


def test_garbage_is_a_sentence_and_no_training_minds(tmp_path: Path) -> None:
    with chaos_daemon() as daemon:
        trials = hold(daemon, TO_A_SEGMENT, tmp_path, early=False)
        trials += hold(daemon, IN_THE_WAY, tmp_path, early=True)
        for trial in trials:
            print(f"{trial.name}: {dict(trial.statuses)}, {trial.answers[0].text.splitlines()[0]}")
        left = shared_memory_of([trial.run_id for trial in trials])
    answers = [answer for trial in trials for answer in trial.answers]
    record(
        "6",
        f"garbage in place of a segment — {len(trials)} kinds and moments, {len(answers)} calls of "
        f"`mosaic frames`: {sum(answer.status == 0 for answer in answers)} pictures, "
        f"{sum(answer.status != 0 for answer in answers)} sentences, 0 tracebacks, at most "
        f"{max(answer.memory_mb for answer in answers):.0f} MB; {len(trials)}/{len(trials)} "
        f"trainings complete, {len(left)} names left in /dev/shm",
    )
    assert left == []
