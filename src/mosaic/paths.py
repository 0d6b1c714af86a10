"""Where everything lives below the home directory, and where the sockets are."""

from __future__ import annotations

import hashlib
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

from mosaic.contracts.hostile_text import is_run_id
from mosaic.contracts.run_files import RunFiles
from mosaic.errors import HomeError, UnknownRunError
from mosaic.files import make_directory
from mosaic.private_folder import NotPrivateError, PrivateFolder

HOME_VARIABLE = "MOSAIC_HOME"
# A socket's path holds 107 bytes: what is left of them beside our folder and the name of a run's
# control socket.
_LONGEST_SOCKET_BASE = 40


@dataclass(frozen=True)
class Home:
    """One MOSAIC home. Two homes are two independent MOSAICs, each with its own daemon."""

    root: Path

    @classmethod
    def current(cls) -> Home:
        """`$MOSAIC_HOME`, or the user's data directory."""
        if chosen := os.environ.get(HOME_VARIABLE):
            return cls(Path(chosen).expanduser().absolute())
        import platformdirs  # deferred: most commands are started with the variable's default

        return cls(Path(platformdirs.user_data_dir("mosaic")))

    @property
    def trainer(self) -> Path:
        return self.root / "var" / "trainer"

    @property
    def configs(self) -> Path:
        return self.trainer / "configs"

    @property
    def runs(self) -> Path:
        return self.trainer / "runs"

    @property
    def trash(self) -> Path:
        return self.trainer / "trash"

    @property
    def transfer(self) -> Path:
        """Folder for what is on its way into or out of an archive; emptied at every start."""
        return self.trainer / "transfer"

    @property
    def venvs(self) -> Path:
        """Folder for the venvs of bundles; made with the first of them."""
        return self.trainer / "venvs"

    @property
    def quarantine(self) -> Path:
        """Folder for what the registry held and could not use; made when there is something."""
        return self.trainer / "quarantine"

    @property
    def retention_settings(self) -> Path:
        return self.root / "retention.toml"

    @property
    def registry(self) -> Path:
        return self.trainer / "registry.sqlite"

    @property
    def registry_backup(self) -> Path:
        return self.trainer / "registry.backup.sqlite"

    @property
    def format(self) -> Path:
        """Says by which rules the files below were written, see `daemon.home_format`."""
        return self.trainer / "format.json"

    @property
    def daemon_lock(self) -> Path:
        return self.trainer / "daemon.lock"

    @property
    def daemon_info(self) -> Path:
        return self.trainer / "daemon.json"

    @property
    def daemon_token(self) -> Path:
        return self.trainer / "daemon.token"

    @property
    def worker_catalog(self) -> Path:
        return self.trainer / "workers.json"

    @property
    def worker_manifests(self) -> Path:
        """Folder of `<name>.toml` files that announce workers outside this environment."""
        return self.root / "workers"

    @property
    def logs(self) -> Path:
        return self.root / "var" / "logs"

    @property
    def daemon_log(self) -> Path:
        return self.logs / "trainer_daemon.log"

    @property
    def workbench_log(self) -> Path:
        return self.logs / "workbench.log"

    def config(self, run_id: str) -> Path:
        return self.configs / f"config-{checked_run_id(run_id)}.json"

    def policy_config(self, run_id: str) -> Path:
        """The config once more, under a name by which evaluations are found."""
        return self.configs / f"config-{checked_run_id(run_id)}-policy.json"

    def worker_config(self, run_id: str, slot: int) -> Path:
        return self.configs / f"worker-{checked_run_id(run_id)}-{slot}.json"

    def run(self, run_id: str) -> RunFiles:
        return RunFiles(self.runs / checked_run_id(run_id))

    @property
    def runtime(self) -> Path:
        """Folder for sockets: private, and short even where TMPDIR is a long path."""
        digest = hashlib.sha256(os.fsencode(self.root)).hexdigest()[:10]
        base = os.environ.get("XDG_RUNTIME_DIR")
        if base and _has_room_for_sockets(base) and Path(base).is_dir():
            return Path(base) / f"mosaic-{digest}"
        base = tempfile.gettempdir()
        return Path(
            base if _has_room_for_sockets(base) else "/tmp", f"mosaic-{os.getuid()}-{digest}"
        )

    @property
    def daemon_socket(self) -> Path:
        return self.runtime / "trainer.sock"

    def control_socket(self, run_id: str, attempt: int) -> Path:
        return self.runtime / f"{checked_run_id(run_id)}-{attempt}.sock"

    def create(self) -> None:
        """Make the folders, owner-only; raise HomeError with a fix when that is impossible."""
        try:
            # Each by itself: those above it would be left open to everybody.
            for folder in (
                *(self.root, self.root / "var", self.trainer, self.configs, self.runs),
                *(self.trash, self.transfer, self.logs, self.worker_manifests),
            ):
                make_directory(folder, mode=0o700)
            make_private(self.runtime)
        except OSError as error:
            raise HomeError(
                f"The home directory {self.root} cannot be used: {error.strerror}",
                hint=f"make it writable, or set {HOME_VARIABLE} to another directory",
                path=str(self.root),
            ) from error


def _has_room_for_sockets(base: str) -> bool:
    return len(os.fsencode(base)) <= _LONGEST_SOCKET_BASE


def make_private(folder: Path) -> None:
    """A directory only we can enter; refuses one that somebody else prepared for us."""
    try:
        with PrivateFolder.make(folder):
            pass
    except NotPrivateError as error:
        raise HomeError(
            f"{folder} cannot be used for sockets: {error.strerror}",
            hint="have it removed, or set XDG_RUNTIME_DIR to a directory of your own",
            path=str(folder),
        ) from error


def checked_run_id(run_id: str) -> str:
    """The id itself when it is a ULID; raises before anything touches the disk otherwise."""
    if not is_run_id(run_id):
        raise UnknownRunError(
            f"{run_id[:64]!r} is not a run id",
            hint="a run id has 26 characters; `mosaic runs` lists them",
        )
    return run_id
