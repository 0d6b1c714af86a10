"""Environments in processes: the trajectories of a loop, states that interchange, no leftovers."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import psutil
import pytest

from cleanrl_worker.environments.making import make_env_batch
from cleanrl_worker.environments.processes.batch import ProcessBatch
from mosaic.errors import ConfigError, WorkerError
from tests.unit.cleanrl_worker.environments.batch_comparison import (
    assert_same_step,
    random_actions,
    through_a_file,
)
from tests.waiting import PATIENCE_S

NUM_ENVS = 3


def environment_processes(pid: int | None = None) -> list[psutil.Process]:
    found = []
    for child in psutil.Process(pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # a zombie has no command line either
            if "environments.processes.child" in " ".join(child.cmdline()):
                found.append(child)
    return found


@pytest.mark.parametrize("env_id", ["CartPole-v1", "BreakoutNoFrameskip-v4", "Hopper-v5"])
def test_trajectories_and_states_are_those_of_a_loop(env_id: str) -> None:
    loop = make_env_batch(env_id, NUM_ENVS, vectorization="loop")
    with_processes = ProcessBatch({"env_id": env_id}, NUM_ENVS, 2)
    other = ProcessBatch({"env_id": env_id}, NUM_ENVS, 3, cores=4)  # these watch for messages
    try:
        np.testing.assert_array_equal(with_processes.reset(3), loop.reset(3))
        draw = random_actions(loop)
        ends = 0
        for _ in range(120):
            actions = draw()
            step = loop.step(actions)
            assert_same_step(with_processes.step(actions), step)
            ends += len(step.finals)
        assert ends
        other.load_state_dict(through_a_file(with_processes.state_dict()))
        loop.load_state_dict(through_a_file(with_processes.state_dict()))
        np.testing.assert_array_equal(other.observations, loop.observations)
        for _ in range(60):
            actions = draw()
            step = loop.step(actions)
            assert_same_step(other.step(actions), step)
            assert_same_step(with_processes.step(actions), step)
    finally:
        for envs in (loop, with_processes, other):
            envs.close()
    assert not environment_processes()


@pytest.mark.parametrize("cores", [1, 4])
def test_a_process_that_dies_is_named(cores: int) -> None:
    envs = ProcessBatch({"env_id": "CartPole-v1"}, 2, 2, cores)
    try:
        envs.reset(0)
        environment_processes()[1].kill()
        with pytest.raises(WorkerError, match="ended with code -9"):
            for _ in range(3):
                envs.step(np.zeros(2, np.int64))
    finally:
        envs.close()
    assert not environment_processes()


def test_what_a_process_refuses_arrives_as_it_was() -> None:
    with pytest.raises(ConfigError, match="NoSuchGame"):
        ProcessBatch({"env_id": "NoSuchGame-v0"}, 2, 2)
    assert not environment_processes()


def test_processes_die_with_the_training_and_survive_its_signals(tmp_path: Path) -> None:
    program = textwrap.dedent(
        """
        import sys
        import numpy as np
        from cleanrl_worker.environments.processes.batch import ProcessBatch
        envs = ProcessBatch({"env_id": "CartPole-v1"}, 2, 2)
        envs.reset(0)
        print("ready", flush=True)
        sys.stdin.readline()
        envs.step(np.zeros(2, np.int64))
        print("stepped", flush=True)
        sys.stdin.readline()
        """
    )
    training = subprocess.Popen(
        [sys.executable, "-c", program],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
    )
    assert training.stdin is not None and training.stdout is not None
    with training:
        assert training.stdout.readline() == "ready\n"
        children = environment_processes(training.pid)
        assert len(children) == 2
        for child in children:
            os.kill(child.pid, signal.SIGTERM)
            os.kill(child.pid, signal.SIGINT)
        print(file=training.stdin, flush=True)
        assert training.stdout.readline() == "stepped\n"
        training.kill()
    gone, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
    assert not alive
    assert len(gone) == 2
