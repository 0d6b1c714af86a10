"""Real workers run out of memory in every way there is, and are told apart from those that did not.

One daemon for all of them: each run is submitted with two retries, which nobody may use who would
only run out of memory again.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from mosaic.front.worker_manifests import add_manifest
from tests.daemon_harness import DaemonHarness, running_daemon

CUDA = (
    "'CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 8.00 GiB of "
    "which 1.50 GiB is free.'"
)
TORCH_LIKE = "class OutOfMemoryError(RuntimeError): pass\n"
NO_ROOM = "import resource; resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
WORKER = """
from dataclasses import dataclass
from mosaic.worker import Run, worker_main
from hungry_worker import get_worker_metadata

@dataclass
class Config:
    program: str = ""

def train(run: Run[Config]) -> None:
    exec(run.config.program, {})

if __name__ == "__main__":
    raise SystemExit(worker_main(get_worker_metadata, Config, train))
"""


@dataclass(frozen=True)
class Case:
    way: str  # "sdk", "program" or "watched"
    program: str
    label: str
    memory_mb: int = 4096
    words: str = ""  # in the sentence


CASES = {
    "torch's error by name": Case(
        "sdk",
        f"{TORCH_LIKE}raise OutOfMemoryError({CUDA})",
        "gpu_memory",
        words="asked for 2.00 GiB more, with 1.50 GiB of 8.00 GiB free",
    ),
    "torch's own error": Case(
        "sdk", f"import torch; raise torch.OutOfMemoryError({CUDA})", "gpu_memory"
    ),
    "torch before it had a name": Case("sdk", f"raise RuntimeError({CUDA})", "gpu_memory"),
    "the driver": Case("sdk", "raise RuntimeError('CUDA error: out of memory')", "gpu_memory"),
    "jax": Case(
        "sdk",
        "class XlaRuntimeError(RuntimeError): pass\n"
        "raise XlaRuntimeError('RESOURCE_EXHAUSTED: Out of memory allocating 9000000000 bytes.')",
        "gpu_memory",
        words="asked for 9,000.0 MB more",
    ),
    "an error that caused another": Case(
        "sdk",
        f"{TORCH_LIKE}try:\n    raise OutOfMemoryError({CUDA})\n"
        "except OutOfMemoryError as error:\n    raise RuntimeError('update failed') from error",
        "gpu_memory",
    ),
    "no address space left": Case("sdk", f"{NO_ROOM}bytearray(8 << 30)", "host_memory"),
    "numpy": Case(
        "sdk", "import numpy; numpy.ones((10**7, 10**7))", "host_memory", words="asked for"
    ),
    "torch on the CPU": Case(
        "sdk", "import torch; torch.ones(10**14)", "host_memory", words="asked for"
    ),
    "a program without address space": Case(
        "program", f"{NO_ROOM}bytearray(8 << 30)", "host_memory"
    ),
    "a program with torch's error": Case(
        "program", f"{TORCH_LIKE}raise OutOfMemoryError({CUDA})", "gpu_memory"
    ),
    "C++": Case(
        "program",
        "import os, sys\n"
        "print(\"terminate called after throwing an instance of 'std::bad_alloc'\","
        " file=sys.stderr, flush=True)\nos.abort()",
        "host_memory",
    ),
    "exit code 137": Case("program", "raise SystemExit(137)", "host_memory", words="probably"),
    "more than its limit": Case(
        "program",
        "import time\nkept = []\nwhile True:\n    kept.append(b'x' * 10**7); time.sleep(0.01)",
        "memory_limit",
        memory_mb=256,
        words="its memory limit of 256 MB",
    ),
    "a watched script": Case(
        "watched", f"{TORCH_LIKE}raise OutOfMemoryError({CUDA})", "gpu_memory"
    ),
    "a watched script without address space": Case(
        "watched", f"{NO_ROOM}bytearray(8 << 30)", "host_memory"
    ),
    "killed by somebody": Case("program", "import os; os.kill(os.getpid(), 9)", "signal_9"),
    "a watched script killed by somebody": Case(
        "watched", "import os; os.kill(os.getpid(), 9)", "worker_error"
    ),
    "a crash": Case("program", "import os; os.kill(os.getpid(), 11)", "signal_11"),
    "an error about another memory": Case(
        "sdk", "raise ValueError('the replay memory is empty')", "worker_error"
    ),
    "an error after one that was handled": Case(
        "sdk",
        "try:\n    raise MemoryError\nexcept MemoryError:\n    pass\nraise KeyError('x')",
        "worker_error",
    ),
    "an exit code": Case("program", "raise SystemExit(3)", "exit_code_3"),
}
OUT_OF_MEMORY = {"gpu_memory", "host_memory", "memory_limit"}


def submit(daemon: DaemonHarness, folder: Path, case: Case) -> str:
    changes = {
        "resources": {"cpus": 1, "memory_mb": case.memory_mb},
        "retry": {"max_attempts": 3, "backoff_seconds": 0.0},
    }
    if case.way == "program":
        return daemon.submit(
            entry_point=sys.executable, arguments=["-I", "-S", "-c", case.program], **changes
        )
    config: dict[str, object] = {"program": case.program}
    if case.way == "watched":
        script = folder / f"{abs(hash(case.program))}.py"
        script.write_text(case.program)
        config = {"command": [sys.executable, str(script)], "cwd": str(folder)}
    name = "hungry" if case.way == "sdk" else "script"
    return daemon.submit(entry_point=name, metadata={"worker": {"config": config}}, **changes)


@pytest.fixture
def daemon(tmp_path: Path) -> Iterator[DaemonHarness]:
    folder = tmp_path / "hungry"
    package = folder / "hungry_worker"
    package.mkdir(parents=True)
    (package / "__init__.py").write_text(
        "from mosaic.contracts.capabilities import WorkerCapabilities\n"
        "def get_worker_metadata():\n"
        "    return WorkerCapabilities(worker_type='hungry')\n"
    )
    (package / "cli.py").write_text(WORKER)
    (folder / "worker.toml").write_text(
        'name = "hungry"\nentry_point = "hungry_worker:get_worker_metadata"\n'
    )
    with running_daemon() as harness:
        add_manifest(harness.home, folder)
        yield harness


def test_the_cause_is_right_says_what_to_change_and_is_not_tried_again(
    daemon: DaemonHarness, tmp_path: Path
) -> None:
    runs = {name: submit(daemon, tmp_path, case) for name, case in CASES.items()}
    records = {name: daemon.wait_over(run_id) for name, run_id in runs.items()}
    found = {name: (record.failure_reason, record.attempt) for name, record in records.items()}
    assert found == {
        name: (case.label, 1 if case.label in OUT_OF_MEMORY else 3) for name, case in CASES.items()
    }
    for name, record in records.items():
        assert record.failure is not None
        assert CASES[name].words in record.failure.message
        assert "num_envs" in record.failure.hint or CASES[name].label not in OUT_OF_MEMORY
    health = daemon.client.health()
    assert (health.live_runs, health.cpus_free) == (0, health.cpus_total), "slots are free again"
    assert health.memory_mb_free == health.memory_mb_total
