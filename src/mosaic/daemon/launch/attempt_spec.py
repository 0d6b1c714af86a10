"""Turns a stored run into what its run host needs to start the worker."""

from __future__ import annotations

import json
import os
import secrets as random_secrets
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from mosaic.contracts import worker_environment as variables
from mosaic.contracts.run_config import TrainRunConfig
from mosaic.contracts.run_files import AttemptSpec, shared_memory_prefixes
from mosaic.contracts.run_record import RunRecord
from mosaic.contracts.secrets import SecrecyRules, referenced_names
from mosaic.daemon.bundles.kept_locks import keep_locks, kept_locks
from mosaic.daemon.bundles.needs import missing_error
from mosaic.daemon.launch.command import LaunchCommand, resolve_command, worker_environment
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.daemon.launch.venvs import ALL_PRESENT, Venvs, config_in_venvs, in_venvs
from mosaic.daemon.workers.catalog import WorkerCatalog
from mosaic.daemon.workers.environment import passed_secrets
from mosaic.errors import HomeError, SecretLostError
from mosaic.fastlane.segment import segment_path
from mosaic.files import atomic_write, atomic_write_json, make_directory
from mosaic.paths import Home
from mosaic.runhost.attempt_files import set_aside

HEARTBEAT_VARIABLE = variables.HEARTBEAT_S
DEFAULT_HEARTBEAT_S = "30"


class SpecBuilder:
    def __init__(
        self,
        home: Home,
        catalog: WorkerCatalog,
        vault: SecretVault,
        venvs: Venvs = ALL_PRESENT,
    ) -> None:
        self._home = home
        self._catalog = catalog
        self._vault = vault
        self._venvs = venvs

    def control_of(self, config: TrainRunConfig) -> str:
        """How this run's worker is told to stop or pause."""
        return "stdin" if resolve_command(config, self._catalog).is_sdk_worker else "signals"

    def command_of(self, run_id: str, config: TrainRunConfig) -> LaunchCommand:
        """As it would be launched now, by the locks that the run has kept, if it has."""
        command = resolve_command(config, self._catalog)
        kept = kept_locks(self._home.run(run_id))
        return in_venvs(command, config, self._catalog, self._venvs, kept)

    def venvs_of(self, run_id: str, config: TrainRunConfig) -> tuple[Path, ...]:
        """Those that a run which was launched runs in."""
        if not kept_locks(self._home.run(run_id)):
            return ()
        venvs = self.command_of(run_id, config).venvs
        return tuple(venv.path for venv in venvs if venv.path is not None)

    def build(self, record: RunRecord, config: TrainRunConfig, slot: int) -> AttemptSpec:
        """Writes the worker's config and token, too; blocks, so call it in a thread.

        Raises BundleError where something it needs is not installed any more.
        """
        command = self.command_of(record.run_id, config)
        if command.missing:
            raise missing_error(command.missing)
        files = self._home.run(record.run_id)
        outputs = files.directory / config.artifacts.output_prefix
        try:
            make_directory(outputs, mode=0o700)  # checkpoints go there
            config_path = self._home.worker_config(record.run_id, slot)
            atomic_write_json(config_path, worker_config(record, config, command))
            attempt = files.attempt(record.attempt)
            _make_empty(attempt.directory)
            atomic_write(attempt.token, random_secrets.token_hex(32).encode())
            keep_locks(files, (venv.lock for venv in command.venvs if venv.lock is not None))
            for venv in command.venvs:
                if venv.path is not None:
                    self._venvs.mark_used(venv.path)
        except OSError as error:
            raise HomeError(
                f"The files of the run could not be written: {error.strerror}",
                hint=f"free some space or check the rights of {self._home.root}",
            ) from error
        contract = self._contract(record, command, outputs)
        kept = self._kept_values(record.run_id, config)
        secrets = masked_values(kept, config)
        ordinary = {name: value for name, value in kept.items() if name not in secrets}
        if secrets:
            contract[variables.SECRET_NAMES] = ",".join(sorted(secrets))
        max_steps = config.schedule.max_steps
        if max_steps is not None:
            contract[variables.MAX_STEPS] = str(max_steps)
        return AttemptSpec(
            run_id=record.run_id,
            attempt=record.attempt,
            run_directory=str(files.directory),
            worker_name=record.worker,
            argv=command.argv(str(config_path)),
            cwd=str(outputs),
            environment=worker_environment(
                replace(config, environment={**config.environment, **ordinary}),
                command,
                gpu_slots=record.gpu_slots,
                contract=contract,
            ),
            secrets=secrets,
            control_socket=str(self._home.control_socket(record.run_id, record.attempt)),
            control="stdin" if command.is_sdk_worker else "signals",
            stdout_events=command.has_stdout_events,
            memory_mb=config.resources.memory_mb,
            max_duration_s=config.schedule.max_duration_seconds,
            max_steps=max_steps if command.has_stdout_events else None,
            shm_prefixes=shared_memory_prefixes(record.run_id),
            exit_proof=random_secrets.token_hex(32),
        )

    def _contract(self, record: RunRecord, command: LaunchCommand, outputs: Path) -> dict[str, str]:
        """The variables of contracts.worker_environment that do not depend on the config."""
        files = self._home.run(record.run_id)
        contract = {
            variables.RUN_ID: record.run_id,
            variables.RUN_DIR: str(files.directory),
            variables.OUTPUT_DIR: str(outputs),
            variables.ATTEMPT: str(record.attempt),
            variables.AGENT_ID: record.agent_id,
            variables.WORKER_ID: record.worker_id,
            variables.HEARTBEAT_S: os.environ.get(HEARTBEAT_VARIABLE, DEFAULT_HEARTBEAT_S),
            variables.FASTLANE_SEGMENT: str(segment_path(record.run_id)),
            variables.TRAINER_ADDRESS: f"unix:{self._home.daemon_socket}",
            variables.TOKEN_FILE: str(files.attempt(record.attempt).token),
        }
        if command.is_sdk_worker:
            contract[variables.CONTROL] = "stdin"
            if not command.has_stdout_events:
                contract[variables.JOURNAL] = str(files.journal)
        return {**contract, **venv_variables(command)}

    def hidden_values(self, run_id: str, config: TrainRunConfig) -> list[str]:
        """Values that must not appear in anything written about this run."""
        return list(masked_values(self._vault.get(run_id) or {}, config).values())

    def _kept_values(self, run_id: str, config: TrainRunConfig) -> dict[str, str]:
        needed = referenced_names(config.environment)
        kept = (self._vault.get(run_id) or {}) if needed else {}
        if missing := [name for name in needed if name not in kept]:
            raise SecretLostError(
                f"The values of {', '.join(missing)} are no longer known: they are not stored",
                hint="submit the run again with these variables set",
            )
        return {name: kept[name] for name in needed}


def masked_values(kept: Mapping[str, str], config: TrainRunConfig) -> dict[str, str]:
    """What the run host hides in all it writes; the rest of what was kept is ordinary text."""
    rules = SecrecyRules.here()
    passed = passed_secrets(os.environ)
    return {
        **{name: value for name, value in passed.items() if name not in config.environment},
        **{name: value for name, value in kept.items() if rules.is_masked(name, value)},
    }


def _make_empty(directory: Path) -> None:
    """An attempt begins with an empty folder, whatever an earlier one left under that name."""
    attempts = directory.parent
    if attempts.is_symlink() or not attempts.is_dir():
        set_aside(attempts)
    make_directory(attempts, mode=0o700)
    set_aside(directory)
    make_directory(directory, mode=0o700)  # and with it the run host's last word


def worker_config(
    record: RunRecord, config: TrainRunConfig, command: LaunchCommand
) -> dict[str, object]:
    """What the worker reads: its config, and its ids if its schema has fields for them."""
    capabilities = command.entry.capabilities if command.entry else None
    known = capabilities.config_schema.get("properties", {}) if capabilities else {}
    names = {
        "run_id": record.run_id,
        "worker_id": record.worker_id,
        "agent_id": record.agent_id,
    }
    settings = config_in_venvs(config.worker.config, command)
    return {**settings, **{key: name for key, name in names.items() if key in known}}


def venv_variables(command: LaunchCommand) -> dict[str, str]:
    """For analytics.json: the worker's own venv, and those of the programs that it runs."""
    own, found = command.own_venv, {}
    if own is not None and own.lock is not None:
        found = {
            variables.BUNDLE: own.name,
            variables.BUNDLE_LOCK: own.lock.hash,
            variables.BUNDLE_ACCELERATOR: own.lock.accelerator.value,
            variables.BUNDLE_PYTHON: own.python,
        }
    others = [
        {
            "name": venv.name,
            "lock_hash": venv.lock.hash,
            "accelerator": venv.lock.accelerator.value,
            "python": venv.python_version or venv.lock.python,
            "interpreter": venv.python,
        }
        for venv in command.venvs
        if venv is not own and venv.lock is not None
    ]
    return {**found, variables.OTHER_BUNDLES: json.dumps(others)} if others else found
