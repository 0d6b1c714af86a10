"""Simulations with real processes: seeking, and everything an environment may do to its owner."""

from __future__ import annotations

import gc
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mosaic.contracts.replay import EpisodeRecording
from mosaic.errors import WorkerError
from mosaic.processes import stat_fields
from mosaic.replay.simulation import Simulation, simulate, verify
from mosaic.replay.simulator import MOST_BYTES
from tests.replay_samples import recording_of
from tests.waiting import wait_until

ROOT = str(Path(__file__).parents[2])
MAKERS = "tests.integration.replay_environments"


def placed(recording: EpisodeRecording, **changes: Any) -> EpisodeRecording:
    return EpisodeRecording(
        **{**vars(recording), "python": sys.executable, "path": (ROOT,), **changes}
    )


def misbehaving(what: str, at: object = 2, steps: int = 5) -> EpisodeRecording:
    return placed(
        recording_of(steps),
        maker=f"{MAKERS}:Misbehaving",
        settings={"length": steps, "what": what, "at": at},
    )


def is_gone(pid: int) -> bool:
    return (stat_fields(pid) or "Z")[0] == "Z"


def test_frame_accurate_seeking_to_and_fro() -> None:
    with Simulation(placed(recording_of(40))) as simulation:
        for step in (7, 40, 3, 2, 39, 0, 99, 20, 21, 20, -5):
            picture = simulation.seek(step)
            where = min(max(step, 0), 40)
            assert simulation.step.index == where
            assert picture == (3, 2, bytes([where]) * 18)
            assert simulation.step.action == (where - 1 if where else None)
        assert simulation.verify().sentence == "identical"
        assert simulation.seek(5).pixels[0] == 5
        pid = simulation.pid
    assert is_gone(pid)


def test_moments_and_the_stream_of_steps() -> None:
    recording = placed(recording_of([100.0, 101.0, 0.5]))
    with Simulation(recording) as simulation:
        moments = simulation.moments()
        assert [(m.index, m.reward, m.recorded_reward) for m in moments] == [
            (0, 0.0, 0.0),
            (1, 100.0, 100.0),
            (2, 101.0, 101.0),
            (3, 102.0, 0.5),
        ]
        assert simulation.difference == "differs at step 3: recorded 0.5, simulated 102.0"
        assert simulation.moments() == moments
    steps = list(simulate(recording, pictures=True, observations=True))
    assert [step.observation for step in steps] == [[100], [1], [2], [3]]
    assert [step.picture.pixels[0] for step in steps if step.picture] == [0, 1, 2, 3]
    assert steps[-1].terminated and not steps[-1].truncated


def test_an_environment_gets_no_more_than_a_part_of_the_memory() -> None:
    with Simulation(placed(recording_of(3))) as simulation:
        simulation.seek(1)
        limit, _ = resource.prlimit(simulation.pid, resource.RLIMIT_DATA)
    assert 0 < limit <= MOST_BYTES


def test_who_stops_listening_leaves_no_process(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[Simulation] = []
    start = Simulation.__init__

    def noted(self: Simulation, *arguments: Any, **more: Any) -> None:
        start(self, *arguments, **more)
        started.append(self)

    monkeypatch.setattr(Simulation, "__init__", noted)
    for step in simulate(placed(recording_of(200)), pictures=True):
        if step.index == 3:
            break
    del step
    gc.collect()
    assert is_gone(started[0].pid)


def test_what_it_prints_and_reads_does_not_get_between_the_messages() -> None:
    for what in ("prints", "reads"):
        with Simulation(misbehaving(what)) as simulation:
            assert simulation.seek(5).pixels[0] == 5
            assert simulation.verify().is_identical


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("raises", "the environment raised ValueError after step 2: the wheel came off"),
        ("leaves", "the environment raised SystemExit after step 2: I am leaving"),
        ("exits", "the environment's process exited with 7; its last words: about to exits"),
        ("crashes", "the environment's process was killed by SIGSEGV"),
    ],
)
def test_a_failing_environment_becomes_a_sentence(what: str, words: str) -> None:
    with Simulation(misbehaving(what)) as simulation:
        assert simulation.seek(2).pixels[0] == 2
        with pytest.raises(WorkerError, match=words):
            simulation.seek(4)
    verdict = verify(misbehaving(what))
    assert verdict.kind == "impossible"
    assert verdict.sentence.startswith("cannot be simulated: ") and words in verdict.sentence


@pytest.mark.parametrize("what", ["raises", "exits"])
def test_one_that_cannot_be_made_becomes_a_sentence(what: str) -> None:
    with pytest.raises(WorkerError, match=r"the wheel came off|exited with 7"):
        Simulation(misbehaving(what, at="make"))


@pytest.mark.parametrize("what", ["hangs", "hangs_in_c"])
def test_a_hanging_environment_is_given_up(what: str) -> None:
    with Simulation(misbehaving(what), answer_wait_s=1.5) as simulation:
        with pytest.raises(WorkerError, match=r"did not answer for 1.5 s; .*about to hangs"):
            simulation.seek(4)
        wait_until(lambda: is_gone(simulation.pid), what="the end of the simulator")
        assert simulation.verify().kind == "impossible"


def test_a_slow_environment_is_waited_for_as_long_as_it_steps() -> None:
    recording = placed(recording_of(12), maker=f"{MAKERS}:Slow")
    with Simulation(recording, answer_wait_s=1.0) as simulation:
        assert simulation.verify().is_identical


def test_a_killed_simulator_becomes_a_sentence() -> None:
    with Simulation(placed(recording_of(5))) as simulation:
        os.kill(simulation.pid, signal.SIGKILL)
        with pytest.raises(WorkerError, match="killed by SIGKILL"):
            simulation.seek(1)
        with pytest.raises(WorkerError, match="killed by SIGKILL"):
            simulation.seek(1)


def test_an_environment_without_pictures_can_still_be_verified() -> None:
    with Simulation(placed(recording_of(5), maker=f"{MAKERS}:Undrawn")) as simulation:
        with pytest.raises(WorkerError, match="its picture is no array"):
            simulation.seek(2)
        assert simulation.verify().is_identical


def test_what_the_environment_starts_ends_with_it() -> None:
    with Simulation(misbehaving("starts", at=0)) as simulation:
        child = int(simulation.moments()[1].reward)
        assert not is_gone(child)
    wait_until(lambda: is_gone(child), what="the end of the environment's child")


@pytest.mark.parametrize("what", ["hangs", "hangs_in_c"])
def test_the_simulator_dies_with_its_owner(what: str, tmp_path: Path) -> None:
    program = f"""
import sys
from tests.integration.test_replay_simulation import misbehaving
from mosaic.replay.simulation import Simulation
simulation = Simulation(misbehaving({what!r}))
print(simulation.pid, flush=True)
simulation.seek(4)
"""
    environment = {**os.environ, "PYTHONPATH": ROOT}
    owner = subprocess.Popen(
        [sys.executable, "-c", program], env=environment, stdout=subprocess.PIPE, cwd=tmp_path
    )
    assert owner.stdout is not None
    with owner.stdout:
        simulator = int(owner.stdout.readline())
        assert not is_gone(simulator)
        owner.kill()
        owner.wait()
    wait_until(lambda: is_gone(simulator), what="the end of the simulator")


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"problem": "nothing was recorded"}, "nothing was recorded"),
        ({"maker": ""}, "names nothing that makes its environments"),
        ({"python": "/nowhere/python"}, "/nowhere/python is not on this machine"),
        ({"python": "/bin/false"}, "exited with 1"),
        ({"path": ()}, "No module named"),
        ({"rewards": (1.0,)}, "5 actions, but 1 rewards"),
    ],
)
def test_what_cannot_be_simulated_says_why(changes: dict[str, Any], words: str) -> None:
    recording = placed(recording_of(5), **changes)
    assert words in verify(recording).sentence
    with pytest.raises(WorkerError, match=words):
        Simulation(recording)
