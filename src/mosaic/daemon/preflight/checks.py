"""The checks: of the worker, its config and its needs, and of the machine.

Each takes a `Subject` and returns what it found; `CHECKS` is their order.
"""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, field
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any

from mosaic.contracts.capabilities import ReadinessCheck
from mosaic.contracts.check_result import CHECKPOINT_CHECK, CheckResult
from mosaic.contracts.learner import TrainRequest, read_request
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.schema_check import violations
from mosaic.daemon.bundles.kept_locks import Agreement
from mosaic.daemon.bundles.needs import ResolvedVenv, agreed_error, amount_of, missing_error
from mosaic.daemon.executors.machine import Capacity
from mosaic.daemon.launch.command import LaunchCommand
from mosaic.daemon.preflight.disk_need import disk_need, planned_length, similar_runs
from mosaic.daemon.runs.queue import misfits
from mosaic.daemon.workers.environment import inherited_environment, joined_path, passed_secrets
from mosaic.daemon.workers.interpreters import check_python, python_version, run_probe, version_text
from mosaic.errors import (
    BundleError,
    ConfigError,
    DependencyError,
    DiskSpaceError,
    GpuError,
    HomeError,
    InterpreterError,
    MosaicError,
    PreflightError,
)
from mosaic.paths import Home


@dataclass(frozen=True)
class PreflightResult(CheckResult):
    """A check of a submission, and how its failure is reported to the submitter."""

    error: type[MosaicError] = PreflightError
    details: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Subject:
    config: TrainRunConfig
    command: LaunchCommand
    capacity: Capacity
    home: Home
    # Earlier runs of the same worker and environment, newest first.
    past: tuple[RunRecord, ...] = ()
    # Whether a person has seen what this run starts. Until then nothing of it is even tried out.
    is_confirmed: bool = True
    # What may be installed for it; None: nobody was asked.
    agreement: Agreement | None = None

    @property
    def may_be_tried(self) -> bool:
        return self.is_confirmed or self.command.is_as_installed


INTERPRETER_CHECK = "interpreter"


def check_interpreter(subject: Subject) -> list[PreflightResult]:
    """The interpreter exists, is a Python, and is new enough for the worker SDK."""
    python = subject.command.python
    own_venv = subject.command.own_venv
    if own_venv is not None and not own_venv.is_usable:
        return [PreflightResult(INTERPRETER_CHECK, True, f"it comes with {own_venv.name}")]
    if not subject.may_be_tried:
        return [
            PreflightResult(
                INTERPRETER_CHECK, True, f"{python} is not tried before it is confirmed"
            )
        ]
    try:
        # A script of one's own may run on any Python; the SDK needs a recent one.
        version = (check_python if subject.command.is_sdk_worker else python_version)(python)
    except InterpreterError as error:
        return [
            PreflightResult(
                INTERPRETER_CHECK,
                False,
                str(error),
                error.hint,
                error=InterpreterError,
                details=error.details,
            )
        ]
    return [PreflightResult(INTERPRETER_CHECK, True, f"{python} is Python {version_text(version)}")]


WORKER_CHECK = "worker"
FIND_TIMEOUT_S = 30.0
_FIND_MODULE = (
    "import importlib.util, sys\n"
    "try:\n"
    "    found = importlib.util.find_spec(sys.argv[1]) is not None\n"
    "except ModuleNotFoundError:\n"
    "    found = False\n"
    "sys.exit(0 if found else 3)\n"
)
# Only what was found is remembered: what was missing may be installed at any moment.
_found_modules: set[tuple[str, ...]] = set()
_found_modules_lock = threading.Lock()


def check_worker_import(subject: Subject) -> list[PreflightResult]:
    """The worker or script is there: the interpreter that will run it finds its module."""
    command = subject.command
    if command.script is not None:
        return [_check_script(Path(command.script))]
    if command.module is None:
        return []
    entry = command.entry
    if entry is not None and entry.error:
        return [
            _worker_failure(
                f"The worker {entry.name!r} cannot be used: {entry.error}", entry.source
            )
        ]
    if entry is not None and (entry.python == command.python or command.own_venv is not None):
        # It has described itself in this very interpreter, or is linked into the path of its venv.
        return [PreflightResult(WORKER_CHECK, True, f"{entry.name} is installed ({entry.source})")]
    if not subject.may_be_tried:
        # To look for a module is to import the packages that it is in.
        return [PreflightResult(WORKER_CHECK, True, "it is not looked for before it is confirmed")]
    return [_check_module(command.python, command.module, command.path_dirs)]


def _check_script(script: Path) -> PreflightResult:
    if script.is_file() and os.access(script, os.R_OK):
        return PreflightResult(WORKER_CHECK, True, f"{script} exists")
    return PreflightResult(
        WORKER_CHECK,
        False,
        f"The script {script} does not exist or cannot be read",
        "check metadata.worker.script; the path counts on the daemon's machine",
        error=ConfigError,
        details={"field": "metadata.worker.script"},
    )


def _check_module(python: str, module: str, path_dirs: tuple[str, ...]) -> PreflightResult:
    key = (python, module, *path_dirs)
    with _found_modules_lock:
        is_known = key in _found_modules
    if not is_known:
        problem = _look_for(python, module, path_dirs)
        if problem:
            return _worker_failure(problem, f"install it: {python} -m pip install …")
        with _found_modules_lock:
            _found_modules.add(key)
    return PreflightResult(WORKER_CHECK, True, f"{python} finds the module {module}")


def _look_for(python: str, module: str, path_dirs: tuple[str, ...]) -> str:
    environment = _probe_environment(path_dirs)
    try:
        answer = run_probe([python, "-c", _FIND_MODULE, module], environment, FIND_TIMEOUT_S)
    except OSError as error:
        return f"{python} cannot be started: {error.strerror}"
    if answer.returncode == 0:
        return ""
    if answer.returncode == 3:
        return f"The module {module!r} is not installed for {_named(python)}"
    if answer.returncode is None:
        return f"Looking for the module {module!r} took longer than {FIND_TIMEOUT_S:.0f} s"
    return f"The module {module!r} cannot be imported: {answer.complaint}"


def _probe_environment(path_dirs: tuple[str, ...]) -> dict[str, str]:
    return {
        **inherited_environment(os.environ),
        "PYTHONPATH": joined_path(*path_dirs),
        "PYTHONSAFEPATH": "1",  # not whatever is in the folder the daemon was started in
    }


def _named(python: str) -> str:
    return "the daemon's Python" if python == sys.executable else python


def _worker_failure(message: str, fix: str) -> PreflightResult:
    return PreflightResult(WORKER_CHECK, False, message, fix, error=DependencyError)


WORKER_CONFIG_CHECK = "worker config"
WORKER_CONFIG_PATH = "metadata.worker.config"
MAX_VIOLATIONS = 20
# Known only when the run starts, so a worker may require them all the same.
SET_AT_LAUNCH = ("run_id", "worker_id", "agent_id")


def check_worker_config(subject: Subject) -> list[PreflightResult]:
    """The worker's config is valid by the schema the worker itself published."""
    entry = subject.command.entry
    if entry is None or entry.capabilities is None or not entry.capabilities.config_schema:
        return []
    schema = entry.capabilities.config_schema
    names = {name: "filled in" for name in SET_AT_LAUNCH if name in schema.get("properties", {})}
    results = []
    for violation in violations(
        {**names, **subject.config.worker.config}, schema, WORKER_CONFIG_PATH
    ):
        results.append(
            PreflightResult(
                WORKER_CONFIG_CHECK,
                False,
                f"Invalid config of {entry.name}: {violation.path}: {violation.message}",
                violation.hint,
                error=ConfigError,
                details={"field": violation.path},
            )
        )
        if len(results) == MAX_VIOLATIONS:
            break
    return results or [PreflightResult(WORKER_CONFIG_CHECK, True, "the worker's config is valid")]


def check_readiness(subject: Subject) -> list[PreflightResult]:
    """What the worker itself said it needs: libraries, programs, variables."""
    entry = subject.command.entry
    if entry is None or entry.capabilities is None:
        return []
    environment = {
        **inherited_environment(os.environ),
        **passed_secrets(os.environ),
        **subject.config.environment,
    }
    found = {
        result.check: PreflightResult(**asdict(result), error=DependencyError)
        for result in entry.readiness
    }
    results = []
    for item in entry.capabilities.readiness_checks:
        own_venv = subject.command.own_venv
        if own_venv is not None and item.is_import:
            if own_venv.is_usable:
                results.append(_check_in_venv(item, own_venv))
            continue  # an install ends with importing what it is for
        result = _check_here(item, environment) or found.get(item.name)
        results.append(result or _unknown_readiness(item))
    return results


def _check_in_venv(item: ReadinessCheck, venv: ResolvedVenv) -> PreflightResult:
    """Found as an import would find it, without one: that takes seconds for some packages."""
    top = item.check.partition(":")[2].partition(".")[0]
    folders = map(str, (venv.path or Path()).glob("lib/python3*/site-packages"))
    is_there = PathFinder.find_spec(top, list(folders)) is not None
    return _readiness_result(item, is_there, f"it is {'' if is_there else 'not '}in {venv.name}")


def _check_here(item: ReadinessCheck, environment: Mapping[str, str]) -> PreflightResult | None:
    """Programs and variables depend on this run's environment; libraries were looked up before."""
    kind, _, target = item.check.partition(":")
    if kind == "env":
        is_there = bool(environment.get(target))
        return _readiness_result(
            item, is_there, f"the variable {target} is {'set' if is_there else 'not set'}"
        )
    if kind == "command":
        is_there = shutil.which(target, path=environment.get("PATH")) is not None
        return _readiness_result(
            item, is_there, f"the program {target} is {'installed' if is_there else 'missing'}"
        )
    return None


def _readiness_result(item: ReadinessCheck, ok: bool, message: str) -> PreflightResult:
    return PreflightResult(
        item.name,
        ok,
        f"{item.name}: {message}",
        "" if ok else item.fix,
        required=item.required,
        error=DependencyError,
    )


def _unknown_readiness(item: ReadinessCheck) -> PreflightResult:
    message = f"{item.name}: not checked ({item.check})"
    return PreflightResult(item.name, False, message, item.fix, required=False)


def check_checkpoint(subject: Subject) -> list[PreflightResult]:
    """The worker has nothing against the checkpoint that the run begins with."""
    command, config = subject.command, subject.config.worker.config
    capabilities = command.entry.capabilities if command.entry else None
    request = read_request(config)
    is_warm = isinstance(request, TrainRequest) and bool(request.warm_start)
    if capabilities is None or not capabilities.checkpoint_check or not is_warm:
        return []  # what else begins with one is told by the checkpoint itself what it is
    if command.own_venv is not None and not command.own_venv.is_usable:
        message = f"it is looked at when {command.own_venv.name} is installed"
        return [PreflightResult(CHECKPOINT_CHECK, True, message)]
    if not subject.may_be_tried:
        message = "it is not looked at before it is confirmed"
        return [PreflightResult(CHECKPOINT_CHECK, True, message)]
    environment = _probe_environment(command.path_dirs)
    argv = [command.python, "-m", "mosaic.worker.config_check", capabilities.checkpoint_check]
    try:
        probed = run_probe(argv, environment, FIND_TIMEOUT_S, json.dumps(config))
        answer = json.loads(probed.stdout)
        problem = str(answer.get("message") or "")
        fix, field_name = str(answer.get("hint") or ""), answer.get("field")
    except (OSError, ValueError, AttributeError):
        # The worker looks once more when it loads the file, so this is no reason to refuse.
        return [PreflightResult(CHECKPOINT_CHECK, False, "it could not be looked at", "", False)]
    if not problem:
        return [PreflightResult(CHECKPOINT_CHECK, True, "it fits what is to be done with it")]
    details = {"field": f"{WORKER_CONFIG_PATH}.{field_name}"} if field_name else {}
    return [
        PreflightResult(CHECKPOINT_CHECK, False, problem, fix, error=ConfigError, details=details)
    ]


BUNDLE_CHECK = "bundle"


def check_bundles(subject: Subject) -> list[PreflightResult]:
    """What the run needs is installed, or somebody agreed that it will be."""
    command, agreement = subject.command, subject.agreement
    missing = command.missing if agreement is None else command.to_install
    if not missing:
        return [_offer(venv) for venv in command.offered]
    error = next((venv.problem for venv in missing if venv.lock is None or venv.problem), None)
    if error is None and agreement is not None:
        error = agreed_error(missing, agreement.most_bytes)
        if error is None:
            return [
                PreflightResult(
                    BUNDLE_CHECK,
                    True,
                    f"{venv.name} is installed first (at most {amount_of(venv.fetch_bytes)} to "
                    "fetch)",
                )
                for venv in missing
            ]
    return [_bundle_failure(error or missing_error(missing))]


def _offer(venv: ResolvedVenv) -> PreflightResult:
    message = (
        f"{venv.name} is not installed; its program runs with what is beside MOSAIC "
        f"(`{venv.install_command}` gives it the versions it was written for)"
    )
    return PreflightResult(BUNDLE_CHECK, True, message)


def _bundle_failure(error: BundleError) -> PreflightResult:
    return PreflightResult(
        BUNDLE_CHECK,
        False,
        error.message,
        error.hint,
        error=BundleError,
        details={key: value for key, value in error.details.items() if key != "check"},
    )


RESOURCES_CHECK = "resources"
_GPU_FIELD = "resources.gpus"  # has its own check


def check_machine_size(subject: Subject) -> list[PreflightResult]:
    """The machine as a whole has the CPUs and the memory the run asks for."""
    resources, capacity = subject.config.resources, subject.capacity
    results = [
        PreflightResult(
            RESOURCES_CHECK,
            False,
            f"{misfit.field}: {misfit.message}",
            "ask for less, or use a larger machine; MOSAIC_CPUS and MOSAIC_MEMORY_MB override "
            "what was found",
            error=ConfigError,
            details={"field": misfit.field},
        )
        for misfit in misfits(resources, capacity)
        if not misfit.field.startswith(_GPU_FIELD)
    ]
    if results:
        return results
    memory = "memory without a limit"
    if resources.memory_mb is not None:
        memory = f"{resources.memory_mb} of {capacity.memory_mb} MB"
    found = PreflightResult(
        RESOURCES_CHECK, True, f"{resources.cpus} of {capacity.cpus} CPUs, {memory}"
    )
    expected = resources.expected_memory_mb or 0
    return [found, _expectation(expected, capacity.memory_mb)] if expected else [found]


def _expectation(expected_mb: int, total_mb: int) -> PreflightResult:
    """Only a warning: it may well get by with less."""
    return PreflightResult(
        RESOURCES_CHECK,
        expected_mb <= total_mb,
        f"such a run usually needs {expected_mb} MB of memory; this machine has {total_mb} MB",
        "" if expected_mb <= total_mb else "make what it keeps in memory smaller (buffer_size)",
        required=False,
    )


GPU_CHECK = "gpu"


def check_gpus(subject: Subject) -> list[PreflightResult]:
    """There are as many GPUs as the run cannot do without."""
    request, present = subject.config.resources.gpus, len(subject.capacity.gpus)
    entry = subject.command.entry
    needs_one = bool(entry and entry.capabilities and entry.capabilities.requires_gpu)
    has = f"this machine has {present or 'none'}"
    if request.mandatory and request.requested > present:
        return [
            _gpu_failure(
                f"The run needs {request.requested} GPU(s); {has}",
                present,
                "ask for fewer, or set resources.gpus.mandatory to false to run on the CPU",
            )
        ]
    if needs_one and not present and entry is not None:
        return [
            _gpu_failure(
                f"The worker {entry.name!r} needs a GPU; {has}", present, "use another worker"
            )
        ]
    if needs_one and not request.requested and entry is not None:
        return [
            _gpu_failure(
                f"The worker {entry.name!r} needs a GPU, but the run does not ask for any",
                present,
                "set resources.gpus.requested to 1",
            )
        ]
    if request.requested > present:
        used = f"uses {present}" if present else "runs on the CPU"
        message = f"{request.requested} GPU(s) requested; {has}, so the run {used}"
        return [PreflightResult(GPU_CHECK, False, message, required=False)]
    return [PreflightResult(GPU_CHECK, True, f"{request.requested} of {present} GPU(s)")]


def _gpu_failure(message: str, present: int, fix: str) -> PreflightResult:
    return PreflightResult(
        GPU_CHECK, False, message, fix, error=GpuError, details={"gpus_present": present}
    )


DISK_SPACE_CHECK = "disk space"
MIN_FREE_VARIABLE = "MOSAIC_MIN_FREE_MB"
DEFAULT_MIN_FREE_MB = 200


def min_free_mb() -> int:
    text = os.environ.get(MIN_FREE_VARIABLE, "").strip()
    return int(text) if text.isdecimal() else DEFAULT_MIN_FREE_MB


def check_disk_space(subject: Subject) -> list[PreflightResult]:
    """There is room below the home directory for what the run will write."""
    root, limit = subject.home.root, min_free_mb()
    try:
        free = shutil.disk_usage(root).free // 1_000_000
    except OSError as error:
        message = f"The home directory {root} cannot be used: {error.strerror}"
        return [PreflightResult(DISK_SPACE_CHECK, False, message, "create it", error=HomeError)]
    if free < limit:
        return [
            PreflightResult(
                DISK_SPACE_CHECK,
                False,
                f"Only {free} MB are free below {root}; {limit} MB are needed",
                f"delete old runs, or set {MIN_FREE_VARIABLE}",
                error=DiskSpaceError,
                details={"free_mb": free, "needed_mb": limit},
            )
        ]
    return [_estimated_space(subject, free, limit)]


def _estimated_space(subject: Subject, free: int, limit: int) -> PreflightResult:
    """An estimate may be wrong, so it warns and never refuses."""
    entry = subject.command.entry
    lane = entry.capabilities.lane if entry and entry.capabilities else None
    past = similar_runs(subject.config, subject.home, subject.past)
    need = disk_need(planned_length(subject.config), past, lane)
    if need is None:
        return PreflightResult(DISK_SPACE_CHECK, True, f"{free} MB free")
    needed = max(1, need.bytes // 1_000_000)
    message = f"{free} MB free; the run will write about {needed} MB ({need.basis})"
    if needed + limit <= free:
        return PreflightResult(DISK_SPACE_CHECK, True, message)
    return PreflightResult(
        DISK_SPACE_CHECK,
        False,
        message,
        "free some space (`mosaic clean`, `mosaic trash --empty`), or make the run shorter",
        required=False,
        details={"free_mb": free, "needed_mb": needed},
    )


# In the order in which failures are reported: what the submitter wrote, then the machine.
CHECKS: tuple[Callable[[Subject], list[PreflightResult]], ...] = (
    check_interpreter,
    check_worker_import,
    check_worker_config,
    check_bundles,
    check_checkpoint,
    check_machine_size,
    check_gpus,
    check_readiness,
    check_disk_space,
)


async def run_preflight(
    config: TrainRunConfig,
    command: LaunchCommand,
    capacity: Capacity,
    home: Home,
    past: Iterable[RunRecord] = (),
    is_confirmed: bool = True,
    agreement: Agreement | None = None,
) -> list[PreflightResult]:
    """All checks at once, each in a thread; the order of the results is always the same."""
    subject = Subject(config, command, capacity, home, tuple(past), is_confirmed, agreement)
    found = await asyncio.gather(*(asyncio.to_thread(check, subject) for check in CHECKS))
    return [result for results in found for result in results]


def raise_first_failure(results: Iterable[PreflightResult]) -> None:
    """Raise the typed error of the first required check that failed."""
    for result in results:
        if result.is_fatal:
            raise result.error(
                result.message, hint=result.fix, check=result.check, **result.details
            )
