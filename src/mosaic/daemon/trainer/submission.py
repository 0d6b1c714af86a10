"""Accepting a run: validate, pre-flight, give it an id, store it durably, hand it to the queue.

Order matters for crash safety: the files are on disk before the row is committed, and the row is
committed before the caller hears of it. A crash in between leaves a run directory that the next
start turns into the same run; the caller's retry finds it by its client key.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ulid import ULID

from mosaic.bundles.locks import Lock
from mosaic.contracts.consent import (
    Consent,
    consent_error,
    consent_for_config,
    is_granted,
    referenced_runs,
    reproduced_run,
)
from mosaic.contracts.learner import Mode, lineage_of, mode_of, worker_settings
from mosaic.contracts.run_config import TrainRunConfig, parse_run_config, parse_run_config_json
from mosaic.contracts.run_record import Origin, RunRecord
from mosaic.contracts.run_state import Outcome, RunState
from mosaic.contracts.secrets import SecrecyRules, redact_config, referenced_names, secret_values
from mosaic.daemon.bundles.kept_locks import Agreement, keep_agreement, keep_locks, kept_locks
from mosaic.daemon.bundles.needs import ResolvedVenv, waiting_for_somebody
from mosaic.daemon.executors.machine import Capacity
from mosaic.daemon.keeping.trash import discard
from mosaic.daemon.launch.command import LaunchCommand, resolve_command
from mosaic.daemon.launch.secrets import SecretVault
from mosaic.daemon.launch.venvs import ALL_PRESENT, Venvs, in_venvs
from mosaic.daemon.preflight.checks import PreflightResult, raise_first_failure, run_preflight
from mosaic.daemon.registry.documents import NewRun, write_run_file
from mosaic.daemon.registry.reader import RunFilter
from mosaic.daemon.registry.registry import Registry
from mosaic.daemon.runs.active_run import ActiveRun
from mosaic.daemon.runs.background_tasks import Uninterrupted
from mosaic.daemon.runs.queue import memory_to_set_aside
from mosaic.daemon.workers.catalog import WorkerCatalog
from mosaic.errors import ConfigError, HomeError, UnknownRunError
from mosaic.files import atomic_write_json, make_directory
from mosaic.logs import get_logger
from mosaic.paths import Home

# Scripts are small; what is larger, or compiled, is known by its name alone.
_LARGEST_SCRIPT = 16 * 2**20
_COMPILED = b"\x7fELF"


log = get_logger(__name__)

MAX_CLIENT_KEY = 200
MAX_PAST_RUNS = 100


@dataclass(frozen=True)
class Submission:
    """What the caller is told."""

    run_id: str
    created: bool
    digest: str
    command: tuple[str, ...]
    preflight: tuple[PreflightResult, ...]
    consent: Consent | None = None  # what a person has to see first; only after a dry run
    missing: tuple[ResolvedVenv, ...] = ()  # what has to be installed before it can run


@dataclass(frozen=True)
class RunBundles:
    """What is kept with a run of the bundles that it needs."""

    locks: tuple[Lock, ...] = ()  # of the run that this one is to be like
    agreement: Agreement | None = None


class RunSubmitter:
    def __init__(
        self,
        home: Home,
        registry: Registry,
        catalog: WorkerCatalog,
        vault: SecretVault,
        capacity: Capacity,
        enqueue: Callable[[ActiveRun], None],
        venvs: Venvs = ALL_PRESENT,
    ) -> None:
        self._home = home
        self._registry = registry
        self._catalog = catalog
        self._vault = vault
        self._capacity = capacity
        self._enqueue = enqueue
        self._venvs = venvs
        self.accepting = Uninterrupted()

    async def submit(
        self,
        config_json: str,
        client_key: str,
        dry_run: bool,
        consent: str | None = None,
        agreement: Agreement | None = None,
    ) -> Submission:
        """`consent`: see `SubmitRunRequest` in the wire contract. `agreement`: what may be
        installed for it."""
        if len(client_key) > MAX_CLIENT_KEY:
            raise ConfigError(
                f"client_key has {len(client_key)} characters; the limit is {MAX_CLIENT_KEY}",
                field="client_key",
            )
        config = parse_run_config_json(config_json)
        if client_key and (known := await self._registry.find_client_key(client_key)):
            return Submission(known, False, "", (), ())
        _refuse_lost_values(config)
        kept = await asyncio.to_thread(self._reproduced_locks, config)
        command = await asyncio.to_thread(self._command_of, config, kept)
        past = await self._past_runs(config, command)
        needed = await asyncio.to_thread(consent_for, config, command)
        is_own = needed is None or not await self._is_from_elsewhere(config)
        is_confirmed = is_granted(needed, consent, is_own=is_own)
        results = await run_preflight(
            config, command, self._capacity, self._home, past, is_confirmed, agreement
        )
        if dry_run:
            argv = command.argv("worker-<RUN>-<slot>.json")
            return Submission("", False, "", argv, tuple(results), needed, command.to_install)
        raise_first_failure(results)
        if needed is not None and not is_confirmed:
            raise consent_error(needed, consent, f"The config of {config.run_name!r}")
        # A run that is stored is queued as well: half of this would be a run that waits forever.
        bundles = RunBundles(tuple(kept.values()), agreement if command.to_install else None)
        return await self.accepting.do(
            self._accept(config, client_key, command, tuple(results), bundles)
        )

    def _command_of(self, config: TrainRunConfig, kept: Mapping[str, Lock]) -> LaunchCommand:
        command = resolve_command(config, self._catalog)
        return in_venvs(command, config, self._catalog, self._venvs, kept)

    def _reproduced_locks(self, config: TrainRunConfig) -> dict[str, Lock]:
        """Those of the run that this one is to be like."""
        run_id = reproduced_run(config.raw)
        return kept_locks(self._home.run(run_id)) if run_id else {}

    async def _is_from_elsewhere(self, config: TrainRunConfig) -> bool:
        for run_id in referenced_runs(config.raw, self._home.runs):
            try:
                if (await self._registry.get(run_id)).origin is Origin.IMPORTED:
                    return True
            except UnknownRunError:
                continue  # deleted meanwhile: its files are gone, too
        return False

    async def _past_runs(self, config: TrainRunConfig, command: LaunchCommand) -> list[RunRecord]:
        """Of the same worker and environment, newest first; enough of them for an estimate."""
        env_id = str(config.worker.config.get("env_id", ""))
        chosen = RunFilter(
            outcomes=(Outcome.SUCCEEDED,),
            contains=env_id or command.worker_name,
            limit=MAX_PAST_RUNS,
        )
        records, _ = await self._registry.list(chosen)
        return [
            record
            for record in records
            if (record.worker, record.env_id) == (command.worker_name, env_id)
        ]

    async def _accept(
        self,
        config: TrainRunConfig,
        client_key: str,
        command: LaunchCommand,
        results: tuple[PreflightResult, ...],
        bundles: RunBundles,
    ) -> Submission:
        run_id = str(ULID())
        rules = SecrecyRules.here().for_config(config.raw)
        secrets = secret_values(config.environment, rules)
        stored = redact_config(config.raw, run_id, rules)
        digest = hashlib.sha256(json.dumps(stored, sort_keys=True).encode()).hexdigest()
        now = time.time()
        record = RunRecord(
            run_id=run_id,
            run_name=config.run_name,
            worker=command.worker_name,
            state=RunState.INIT,
            outcome=None,
            attempt=0,
            priority=config.priority,
            created_at=now,
            updated_at=now,
            agent_id=config.worker.agent_id or "agent",
            worker_id=config.worker.worker_id or command.worker_name,
            env_id=str(config.worker.config.get("env_id", "")),
            cpus=config.resources.cpus,
            memory_mb=memory_to_set_aside(
                config.resources, command.estimated_memory_mb, self._capacity
            ),
            group=config.group,
            lineage=lineage_of(stored, self._home.runs),
            origin=Origin.SCRIPT if command.starts_a_program(config) else Origin.HERE,
        )
        new = NewRun(record=record, client_key=client_key or None, config_digest=digest)
        if secrets:
            await asyncio.to_thread(self._vault.put, run_id, secrets)
        try:
            await asyncio.to_thread(self._write_files, new, stored, bundles)
        except OSError as error:
            self._vault.drop(run_id)
            raise HomeError(
                f"The run could not be stored: {error.strerror}",
                hint=f"free some space or check the rights of {self._home.root}",
            ) from error
        accepted_id, created = await self._registry.create_run(new)
        if not created:  # another submission with the same key won the race
            self._vault.drop(run_id)
            await asyncio.to_thread(discard, self._home, run_id)
            return Submission(accepted_id, False, digest, (), results)
        record = await self._registry.get(run_id)
        run = ActiveRun(record, parse_run_config(stored))
        waits_for = command.missing if bundles.agreement is None else command.to_install
        if waits_for:
            run.blocked = waiting_for_somebody(waits_for, run_id)
        self._enqueue(run)
        log.info("run.submitted", run_id=run_id, worker=record.worker)
        argv = command.argv(str(self._home.configs / f"worker-{run_id}-<slot>.json"))
        return Submission(run_id, True, digest, argv, results, missing=command.missing)

    def _write_files(self, new: NewRun, stored: dict[str, Any], bundles: RunBundles) -> None:
        files = self._home.run(new.record.run_id)
        make_directory(files.directory, mode=0o700)
        files.logs.mkdir(mode=0o700)
        atomic_write_json(self._home.config(new.record.run_id), stored)
        if mode_of(worker_settings(stored)) == Mode.EVALUATE:
            atomic_write_json(self._home.policy_config(new.record.run_id), stored)
        keep_locks(files, bundles.locks)
        if bundles.agreement is not None:
            keep_agreement(files, bundles.agreement)
        write_run_file(files, new)


def _refuse_lost_values(config: TrainRunConfig) -> None:
    """For a stored config: it would be accepted, wait, and then fail for lack of them."""
    if missing := referenced_names(config.environment):
        raise ConfigError(
            f"The values of {', '.join(missing)} are not stored with a run, so they must be "
            "given again",
            hint=" ".join(["for example", *(f"--env {name}=…" for name in missing[:3])]),
            field=f"environment.{missing[0]}",
            missing=missing,
        )


def consent_for(config: TrainRunConfig, command: LaunchCommand) -> Consent | None:
    folder = config.worker.config.get("cwd")

    def file_digest(word: str) -> str:
        return _script_digest(Path(str(folder or "/")) / word)

    return consent_for_config(
        config,
        command.argv("worker-<RUN>-<slot>.json"),
        is_as_installed=command.is_as_installed,
        program_fields=command.program_fields,
        file_digest=file_digest,
        installs=[
            f"{venv.name}, {len(venv.lock.packages)} packages (lock {venv.lock.hash})"
            for venv in command.missing
            if venv.is_foreign and venv.lock is not None
        ],
    )


def _script_digest(path: Path) -> str:
    """Empty for anything but a script."""
    try:
        if not path.is_file() or path.stat().st_size > _LARGEST_SCRIPT:
            return ""
        content = path.read_bytes()
    except (OSError, ValueError):
        return ""
    return "" if content.startswith(_COMPILED) else hashlib.sha256(content).hexdigest()
