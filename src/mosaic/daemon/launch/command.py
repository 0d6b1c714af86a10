"""From what was submitted to the exact command that runs it. Pure: looks nothing up by itself.

What runs is `metadata.worker.module`, else `metadata.worker.script`, else `entry_point`, which is
the name of a worker, its module or package, or a Python interpreter with `arguments`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Protocol

from mosaic.contracts.capabilities import WorkerCapabilities
from mosaic.contracts.consent import field_at
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.daemon.bundles.needs import ResolvedVenv
from mosaic.daemon.workers.entry import WorkerEntry
from mosaic.daemon.workers.environment import build_environment
from mosaic.errors import ConfigError

_PYTHON_WORDS = ("python", "python3")


class Workers(Protocol):
    """The part of the worker catalog that is needed here."""

    @property
    def python(self) -> str: ...
    @property
    def sdk_dir(self) -> str: ...
    def find(self, name: str) -> WorkerEntry | None: ...
    def resolve(self, name: str) -> WorkerEntry: ...


@dataclass(frozen=True)
class LaunchCommand:
    python: str
    worker_name: str  # names the log files
    # One of the two; neither for an interpreter with arguments only.
    module: str | None = None
    script: str | None = None
    arguments: tuple[str, ...] = ()
    # Folders for PYTHONPATH.
    path_dirs: tuple[str, ...] = ()
    # None for scripts, and for modules that no worker announces.
    entry: WorkerEntry | None = None
    # What it needs besides what is installed beside MOSAIC: its own venv, and those of programs.
    venvs: tuple[ResolvedVenv, ...] = ()

    # What it would use if it were installed, and can do without.
    offered: tuple[ResolvedVenv, ...] = ()

    @property
    def missing(self) -> tuple[ResolvedVenv, ...]:
        """What has to be installed before it can run."""
        return tuple(venv for venv in self.venvs if not venv.is_usable)

    @property
    def to_install(self) -> tuple[ResolvedVenv, ...]:
        """What is installed for it where somebody agreed to that."""
        return (*self.missing, *self.offered)

    @property
    def own_venv(self) -> ResolvedVenv | None:
        """The venv the worker itself runs in; None where it runs beside MOSAIC, or elsewhere."""
        return next((venv for venv in self.venvs if not venv.need.python_field), None)

    @property
    def is_sdk_worker(self) -> bool:
        """Whether it takes `--config`, registers, and hears commands on its standard input."""
        return self.module is not None

    @property
    def program_fields(self) -> tuple[str, ...]:
        capabilities = self.entry.capabilities if self.entry else None
        return capabilities.program_fields if capabilities else ()

    @property
    def is_as_installed(self) -> bool:
        """Whether it is a worker of this installation, in its own interpreter or the venv that is
        made for it, and all it is told stands in its config."""
        if self.entry is None or self.arguments:
            return False
        return self.python == self.entry.python or self.own_venv is not None

    def starts_a_program(self, config: TrainRunConfig) -> bool:
        """Whether this run starts somebody else's program rather than the worker's own."""
        if self.entry is None or self.entry.capabilities is None:
            return True
        return any(field_at(config.worker.config, name) for name in self.program_fields)

    @property
    def estimated_memory_mb(self) -> int:
        """What its worker says it needs, else what workers usually need."""
        capabilities = self.entry.capabilities if self.entry else None
        if capabilities is None:
            return WorkerCapabilities.estimated_memory_mb
        return capabilities.estimated_memory_mb

    @property
    def has_stdout_events(self) -> bool:
        capabilities = self.entry.capabilities if self.entry else None
        return capabilities is not None and capabilities.stdout_events

    def argv(self, config_path: str) -> tuple[str, ...]:
        if self.module is not None:
            return (self.python, "-m", self.module, "--config", config_path, *self.arguments)
        if self.script is not None:
            return (self.python, self.script, *self.arguments)
        return (self.python, *self.arguments)


def resolve_command(config: TrainRunConfig, workers: Workers) -> LaunchCommand:
    interpreter = _interpreter(config.entry_point)
    if interpreter is None:
        command = _of_worker(config, workers)
    elif config.worker.module is not None:
        command = _of_module(config, workers, interpreter)
    else:
        command = _of_script(config, workers, interpreter)
    if config.schedule.max_steps is not None and not command.is_sdk_worker:
        raise ConfigError(
            "schedule.max_steps cannot be honoured: a script does not tell its steps",
            hint="use schedule.max_duration_seconds, or a worker",
            field="schedule.max_steps",
        )
    return command


def worker_environment(
    config: TrainRunConfig,
    command: LaunchCommand,
    *,
    gpu_slots: Iterable[int],
    contract: Mapping[str, str],
    daemon_environment: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Complete but for the secrets; `contract`: the variables of contracts.worker_environment."""
    return build_environment(
        daemon_environment=os.environ if daemon_environment is None else daemon_environment,
        run_environment=config.environment,
        path_dirs=command.path_dirs,
        cpus=config.resources.cpus,
        gpu_slots=gpu_slots,
        contract=contract,
    )


def _interpreter(entry_point: str) -> str | None:
    is_interpreter = entry_point in _PYTHON_WORDS or PurePosixPath(entry_point).is_absolute()
    return entry_point if is_interpreter else None


def _of_worker(config: TrainRunConfig, workers: Workers) -> LaunchCommand:
    """entry_point names a worker; metadata.worker may only say the same."""
    if config.worker.script is not None:
        raise _disagree(config, "metadata.worker.script", config.worker.script)
    module = config.worker.module
    if module is None:
        entry: WorkerEntry | None = workers.resolve(config.entry_point)
    else:
        entry = workers.find(module)
        is_same = module == config.entry_point or module.startswith(f"{config.entry_point}.")
        if entry is not None:
            is_same = is_same or entry == workers.find(config.entry_point)
        if not is_same:
            raise _disagree(config, "metadata.worker.module", module)
    return _sdk_command(config, workers, entry, None, config.arguments)


def _of_module(config: TrainRunConfig, workers: Workers, interpreter: str) -> LaunchCommand:
    """An interpreter and metadata.worker.module; arguments may begin with `-m` and that module."""
    module, arguments = str(config.worker.module), config.arguments
    if arguments[:1] == ("-m",):
        if arguments[1:2] != (module,):
            named = arguments[1] if len(arguments) > 1 else "nothing"
            raise ConfigError(
                f"arguments run the module {named!r}, but metadata.worker.module is {module!r}",
                hint="leave '-m' out of arguments, or name the same module",
                field="arguments",
            )
        arguments = arguments[2:]
    entry = workers.find(module)
    python = None if interpreter in _PYTHON_WORDS else interpreter
    return _sdk_command(config, workers, entry, python, arguments)


def _of_script(config: TrainRunConfig, workers: Workers, interpreter: str) -> LaunchCommand:
    """An interpreter with a script, or with arguments that say everything."""
    python = workers.python if interpreter in _PYTHON_WORDS else interpreter
    script, arguments = config.worker.script, config.arguments
    if script is None and not arguments:
        raise ConfigError(
            "entry_point is an interpreter, but there is nothing for it to run",
            hint="name a worker as entry_point, or give metadata.worker.script or arguments",
            field="entry_point",
        )
    if script is not None:
        if arguments[:1] == (script,):
            arguments = arguments[1:]
        arguments = (*config.worker.arguments, *arguments)
    return LaunchCommand(
        python=python,
        worker_name=_file_label(PurePosixPath(script).stem if script else _label_of(arguments)),
        script=script,
        arguments=arguments,
        path_dirs=_sdk_path(workers, python, config),
    )


def _sdk_command(
    config: TrainRunConfig,
    workers: Workers,
    entry: WorkerEntry | None,
    python: str | None,
    arguments: tuple[str, ...],
) -> LaunchCommand:
    python = python or (entry.python if entry else workers.python) or workers.python
    module = (entry.module if entry else "") or config.worker.module or config.entry_point
    name = entry.name if entry else module.removesuffix(".cli")
    return LaunchCommand(
        python=python,
        worker_name=_file_label(name),
        module=module,
        arguments=(*config.worker.arguments, *arguments),
        path_dirs=(*(entry.path_dirs if entry else ()), *_sdk_path(workers, python, config)),
        entry=entry,
    )


def _sdk_path(workers: Workers, python: str, config: TrainRunConfig) -> tuple[str, ...]:
    """Another interpreter does not have MOSAIC installed. Ours has, but what is on a PYTHONPATH of
    the run comes before what is installed, and may be called `mosaic` too."""
    is_found = python == workers.python and not config.environment.get("PYTHONPATH")
    return () if is_found else (workers.sdk_dir,)


def _label_of(arguments: tuple[str, ...]) -> str:
    """A name for `python train.py …`, `python -m package.module …` and `python -c …`."""
    for index, argument in enumerate(arguments):
        if argument == "-c":
            return "command"
        if argument == "-m" and index + 1 < len(arguments):
            return arguments[index + 1]
        if not argument.startswith("-"):
            return PurePosixPath(argument).stem
    return "python"


def _file_label(text: str) -> str:
    """Letters, digits, '.', '_' and '-' only: it becomes part of a file's name."""
    label = re.sub(r"[^A-Za-z0-9._-]", "_", text)[:64].lstrip(".")
    return label or "script"


def _disagree(config: TrainRunConfig, field: str, value: str) -> ConfigError:
    return ConfigError(
        f"entry_point ({config.entry_point!r}) and {field} ({value!r}) disagree about what to run",
        hint="leave one of them out, or write 'python' as entry_point",
        field="entry_point",
    )
