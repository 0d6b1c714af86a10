"""Secrets of runs: split off at submission, kept in memory only, never in a config or a log.

A run that waits in the queue or for a retry still needs its secrets when it starts, also after the
daemon was restarted. They are kept in one file per run (0600, in a directory 0700) on a file system
that lives in memory (tmpfs), or, where there is none, in this process only; a restart then loses
them and the run fails with SECRET_LOST.

What this does not protect against: tmpfs can be swapped out to disk unless swap is encrypted; and
while the worker runs, `/proc/PID/environ` shows its secrets to every process of the same user.
"""

from __future__ import annotations

import contextlib
import copy
import hashlib
import json
import os
import re
import threading
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

from mosaic.contracts.hostile_text import SECRET_REFERENCE, is_secret_name
from mosaic.daemon.mounts import MEMORY, filesystem_type
from mosaic.errors import HomeError
from mosaic.files import atomic_write
from mosaic.logs import get_logger, hide_value
from mosaic.paths import Home, checked_run_id, make_private

log = get_logger(__name__)

SECRET_NAMES_VARIABLE = "MOSAIC_SECRET_ENV"
SHARED_MEMORY = Path("/dev/shm")


def split_secrets(
    environment: Mapping[str, str], daemon_environment: Mapping[str, str] | None = None
) -> tuple[dict[str, str], dict[str, str]]:
    """(public, secret) variables. Names in MOSAIC_SECRET_ENV are secret besides the usual ones."""
    listed = _listed_names(os.environ if daemon_environment is None else daemon_environment)
    public, secret = {}, {}
    for name, value in environment.items():
        # An empty value hides nothing; a reference is not the secret itself.
        is_secret = bool(value) and (name in listed or is_secret_name(name))
        if is_secret and not value.startswith(SECRET_REFERENCE):
            secret[name] = value
        else:
            public[name] = value
    return public, secret


def redact_config(
    raw: Mapping[str, Any], run_id: str, daemon_environment: Mapping[str, str] | None = None
) -> dict[str, Any]:
    """The submitted document as it is stored: every secret replaced by a reference to it."""
    stored = copy.deepcopy(dict(raw))
    environment = stored.get("environment", {})
    _, secrets = split_secrets(environment, daemon_environment)
    for name in secrets:
        environment[name] = secret_reference(run_id, name)
    return stored


def secret_reference(run_id: str, name: str) -> str:
    return f"{SECRET_REFERENCE}{run_id}/{name}"


def needed_secrets(environment: Mapping[str, str]) -> frozenset[str]:
    """Names of the variables of a stored config whose values are in the vault."""
    return frozenset(
        name for name, value in environment.items() if value.startswith(SECRET_REFERENCE)
    )


def _listed_names(variables: Mapping[str, str]) -> frozenset[str]:
    return frozenset(re.split(r"[\s,]+", variables.get(SECRET_NAMES_VARIABLE, ""))) - {""}


class SecretVault:
    """Safe to use from several threads."""

    def __init__(self, home: Home) -> None:
        self._lock = threading.Lock()
        self._held: dict[str, dict[str, str]] = {}
        self._folder = _memory_folder(home)
        if self._folder is None:
            log.warning("vault.degraded", consequence="a restart loses the secrets of runs")

    @property
    def survives_restart(self) -> bool:
        return self._folder is not None

    def put(self, run_id: str, secrets: Mapping[str, str]) -> None:
        checked_run_id(run_id)
        for value in secrets.values():
            hide_value(value)
        if not secrets:
            return
        with self._lock:
            self._held[run_id] = dict(secrets)
            if self._folder is None:
                return
            try:
                make_private(self._folder)
                atomic_write(self._folder / run_id, json.dumps(dict(secrets)).encode())
            except (OSError, HomeError) as error:
                # The run can start all the same, as long as this daemon lives.
                log.warning("secret.unsaved", run_id=run_id, error=str(error))

    def get(self, run_id: str) -> dict[str, str] | None:
        """The run's secrets, or None when none are kept (any more)."""
        checked_run_id(run_id)
        with self._lock:
            if run_id not in self._held:
                secrets = self._read(run_id)
                if secrets is None:
                    return None
                self._held[run_id] = secrets
            return dict(self._held[run_id])

    def drop(self, run_id: str) -> None:
        checked_run_id(run_id)
        with self._lock:
            self._held.pop(run_id, None)
            self._remove([run_id])

    def purge(self, keep: Collection[str]) -> None:
        """Forget the secrets of all other runs, such as those that ended without a daemon."""
        with self._lock:
            for run_id in self._held.keys() - set(keep):
                del self._held[run_id]
            if self._folder is not None and self._folder.is_dir():
                self._remove(
                    [path.name for path in self._folder.iterdir() if path.name not in keep]
                )

    def _read(self, run_id: str) -> dict[str, str] | None:
        if self._folder is None:
            return None
        try:
            data = json.loads((self._folder / run_id).read_bytes())
            secrets = {str(name): str(value) for name, value in data.items()}
        except (OSError, ValueError, AttributeError):
            return None
        for value in secrets.values():
            hide_value(value)
        return secrets

    def _remove(self, names: Iterable[str]) -> None:
        """The folder goes with its last file: nothing stays behind in shared memory."""
        if self._folder is None:
            return
        for name in names:
            (self._folder / name).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            self._folder.rmdir()


def _memory_folder(home: Home) -> Path | None:
    """Where a private folder never reaches a disk, or None when there is no such place."""
    digest = hashlib.sha256(os.fsencode(home.root)).hexdigest()[:10]
    candidates = [SHARED_MEMORY / f"mosaic-{os.getuid()}-{digest}"]
    if runtime := os.environ.get("XDG_RUNTIME_DIR"):
        candidates.insert(0, Path(runtime) / f"mosaic-{digest}-secrets")
    for folder in candidates:
        if filesystem_type(folder.parent) in MEMORY and os.access(folder.parent, os.W_OK):
            return folder
    return None
