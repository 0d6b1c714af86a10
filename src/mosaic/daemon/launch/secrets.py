"""The vault: values of variables that are stored nowhere, kept until their run is over.

A run that waits in the queue or for a retry still needs them when it starts, also after the daemon
was restarted. They are kept in one file per run (0600, in a directory 0700) on a file system
that lives in memory (tmpfs), or, where there is none, in this process only; a restart then loses
them and the run fails with SECRET_LOST.

That directory lies where every user may create names, so it is only ever used by descriptor; one
that somebody else prepared is not touched at all.

What this does not protect against: tmpfs can be swapped out to disk unless swap is encrypted; and
while the worker runs, `/proc/PID/environ` shows its secrets to every process of the same user.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.secret_text import secret_spellings
from mosaic.contracts.secrets import SecrecyRules
from mosaic.daemon.executors.machine import MEMORY, filesystem_type
from mosaic.logs import get_logger, hide_texts
from mosaic.paths import Home, checked_run_id
from mosaic.private_folder import UNFINISHED, NotPrivateError, PrivateFolder

log = get_logger(__name__)

SHARED_MEMORY = Path("/dev/shm")
# More than any config can hold, with every character escaped.
MAX_FILE_BYTES = 32_000_000


class SecretVault:
    """Safe to use from several threads."""

    def __init__(self, home: Home) -> None:
        # What people should know: why secrets would not survive a restart. Empty when all is well.
        self.problem = ""
        self._rules = SecrecyRules.here()
        self._lock = threading.Lock()
        self._held: dict[str, dict[str, str]] = {}
        self._path = _memory_folder(home)
        if self._path is None:
            log.warning("vault.degraded", consequence="a restart loses the secrets of runs")

    @property
    def survives_restart(self) -> bool:
        return self._path is not None and not self.problem

    def put(self, run_id: str, secrets: Mapping[str, str]) -> None:
        checked_run_id(run_id)
        if not secrets:
            return
        with self._lock:
            self._hold(run_id, secrets)
            try:
                if (folder := self._open(PrivateFolder.make)) is not None:
                    with folder:
                        folder.write(run_id, json.dumps(dict(secrets)).encode())
            except OSError as error:
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
                self._hold(run_id, secrets)
            return dict(self._held[run_id])

    def drop(self, run_id: str) -> None:
        checked_run_id(run_id)
        with self._lock:
            self._let_go(run_id)
            self._remove_files(lambda kept: kept == run_id)

    def purge(self, keep: Collection[str]) -> None:
        """Forget the secrets of all other runs, such as those that ended without a daemon."""
        with self._lock:
            for run_id in self._held.keys() - set(keep):
                self._let_go(run_id)
            self._remove_files(lambda kept: kept not in keep)

    def _read(self, run_id: str) -> dict[str, str] | None:
        try:
            if (folder := self._open(PrivateFolder.open)) is None:
                return None
            with folder:
                found = json.loads(folder.read(run_id, MAX_FILE_BYTES))
            return {str(name): str(value) for name, value in found.items()}
        except (OSError, ValueError, AttributeError):
            return None

    def _hold(self, run_id: str, secrets: Mapping[str, str]) -> None:
        """In our log they are masked for as long as they are held."""
        self._held[run_id] = dict(secrets)
        masked = [value for name, value in secrets.items() if self._rules.is_masked(name, value)]
        hide_texts(run_id, set().union(*map(secret_spellings, masked)))

    def _let_go(self, run_id: str) -> None:
        if self._held.pop(run_id, None) is not None:
            hide_texts(run_id, ())

    def _remove_files(self, is_unwanted: Callable[[str], bool]) -> None:
        """The folder goes with its last file: nothing stays behind in shared memory."""
        with contextlib.suppress(OSError):
            if (folder := self._open(PrivateFolder.open)) is not None:
                with folder:
                    for name in folder.files():
                        run_id = name.removeprefix(".").removesuffix(UNFINISHED)
                        if is_run_id(run_id) and is_unwanted(run_id):
                            folder.remove(name)
                folder.path.rmdir()

    def _open(self, how: Callable[[Path], PrivateFolder]) -> PrivateFolder | None:
        """None where there is none, or none that is ours: then the memory of this process must do.

        Tried anew each time, since somebody may have removed what was in the way.
        """
        if self._path is None:
            return None
        try:
            folder = how(self._path)
        except FileNotFoundError:
            return None
        except NotPrivateError as error:
            if not self.problem:
                log.warning("vault.refused", path=str(self._path), problem=error.strerror)
            self.problem = (
                f"The variables of runs would not survive a restart of the daemon: {self._path} "
                f"cannot be used, because {error.strerror}. Have it removed, or set "
                "XDG_RUNTIME_DIR to a directory of your own in memory."
            )
            return None
        self.problem = ""
        return folder


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
