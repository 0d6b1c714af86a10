"""The checks of `mosaic doctor`. Each returns what it found and, when that is bad, what to do."""

from __future__ import annotations

import shutil
import sys
import uuid
from collections.abc import Iterable
from typing import TYPE_CHECKING

from mosaic import __version__
from mosaic.contracts.check_result import CheckResult
from mosaic.errors import HomeError, MosaicError
from mosaic.front.human import amount, size
from mosaic.paths import Home

if TYPE_CHECKING:
    from mosaic.client import TrainerClient
    from mosaic.contracts.worker_info import WorkerInfo
    from mosaic.wire.answers import Health

MIN_PYTHON = (3, 11)
LOW_DISK_BYTES = 2_000_000_000
LOW_SHM_BYTES = 64_000_000


def check_machine(home: Home) -> list[CheckResult]:
    """What can be seen without the daemon."""
    return [check_python(), check_home(home), check_disk(home), check_shm()]


def check_python() -> CheckResult:
    version = ".".join(map(str, sys.version_info[:3]))
    return CheckResult(
        "python",
        sys.version_info >= MIN_PYTHON,
        f"{version} at {sys.executable}",
        "install Python 3.11 or newer",
        required=True,
    )


def check_home(home: Home) -> CheckResult:
    try:
        home.create()
        # Permission bits do not tell about read-only file systems: try it.
        probe = home.trainer / f".doctor-{uuid.uuid4().hex}"
        probe.touch(0o600)
        probe.unlink()
    except (HomeError, OSError) as error:
        return CheckResult(
            "home", False, str(error), "make it writable, or set MOSAIC_HOME", required=True
        )
    return CheckResult("home", True, f"{home.root} is writable", "", required=True)


def check_disk(home: Home) -> CheckResult:
    folder = home.root
    while not folder.exists():
        folder = folder.parent
    free = shutil.disk_usage(folder).free
    return CheckResult(
        "disk",
        free >= LOW_DISK_BYTES,
        f"{size(free)} free below {folder}",
        "delete old runs with `mosaic delete`, or set MOSAIC_HOME to a larger disk",
        required=False,
    )


def check_containment(health: Health) -> CheckResult:
    """Whether runs are held together by control groups, which nothing they start can leave."""
    ok = health.containment == "cgroup"
    return CheckResult(
        "containment",
        ok,
        "each run has a control group of its own"
        if ok
        else "no control groups: a run's runaway children are found by other means",
        "start the daemon in a delegated group: "
        "systemd-run --user --scope -p Delegate=yes mosaic daemon start",
        required=False,
    )


def check_shm() -> CheckResult:
    try:
        free = shutil.disk_usage("/dev/shm").free
    except OSError:
        free = 0
    return CheckResult(
        "shared memory",
        free >= LOW_SHM_BYTES,
        f"{size(free)} free in /dev/shm",
        "in a container pass --shm-size=1g; else remove what fills /dev/shm",
        required=False,
    )


def check_daemon(client: TrainerClient) -> list[CheckResult]:
    """The daemon itself, and what only it can see: GPUs and workers."""
    try:
        health = client.health()
        workers = client.workers(refresh=True)
    except MosaicError as error:
        return [CheckResult("daemon", False, error.message, error.hint, required=True)]
    return check_answers(health, workers)


def check_answers(health: Health, workers: Iterable[WorkerInfo]) -> list[CheckResult]:
    """What a daemon that answers says about itself, its GPUs and its workers."""
    found = [_check_answer(health)]
    found += [
        CheckResult("daemon", False, alarm, "see `mosaic daemon status`", required=True)
        for alarm in health.alarms
    ]
    found.append(check_containment(health))
    gpus = amount(health.gpus_total, "GPU") if health.gpus_total else "none; runs use the CPU"
    found.append(CheckResult("gpus", True, gpus, "", required=False))
    known = list(workers)
    if not known:
        fix = "install a package with a worker, or `mosaic workers add FOLDER`"
        found.append(CheckResult("workers", False, "there are none", fix, required=True))
    for worker in known:
        found += _check_worker(worker)
    return found


def _check_answer(health: Health) -> CheckResult:
    is_same = health.version == __version__
    message = f"pid {health.pid} answers, version {health.version}"
    return CheckResult(
        "daemon",
        is_same,
        message if is_same else f"{message}, but this is {__version__}",
        "`mosaic daemon stop` renews it; no run is hurt",
        required=False,
    )


def _check_worker(worker: WorkerInfo) -> list[CheckResult]:
    """One broken worker does not make the machine unfit: all of these are warnings."""
    label = f"worker {worker.name}"
    if worker.error:
        fix = "repair its environment, then `mosaic workers --refresh`"
        return [CheckResult(label, False, worker.error, fix, required=False)]
    failed = [
        CheckResult(label, False, f"{result.check}: {result.message}", result.fix, required=False)
        for result in worker.readiness
        if not result.ok
    ]
    return failed or [CheckResult(label, True, f"ready, from {worker.source}", "", required=False)]
