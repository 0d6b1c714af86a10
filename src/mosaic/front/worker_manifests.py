"""Adds and removes workers that live outside the daemon's environment, by their manifests."""

from __future__ import annotations

from pathlib import Path

from mosaic.contracts.worker_manifest import (
    MANIFEST_FILE,
    WorkerManifest,
    is_worker_name,
    parse_worker_manifest,
)
from mosaic.errors import ConfigError, HomeError, UnknownWorkerError
from mosaic.files import atomic_write
from mosaic.paths import Home


def add_manifest(home: Home, folder: Path) -> WorkerManifest:
    """Announce the worker in this folder; the daemon finds it at the next look.

    Adding the same folder again brings the manifest up to date.
    """
    manifest = _read(folder / MANIFEST_FILE, folder)
    for item in manifest.path:
        if not Path(item).is_dir():
            raise ConfigError(
                f"The worker's manifest names the folder {item}, which does not exist",
                hint=f"correct 'path' in {folder / MANIFEST_FILE}",
                field="path",
            )
    if manifest.python is not None and not Path(manifest.python).is_file():
        raise ConfigError(
            f"The worker's manifest names the interpreter {manifest.python}, which does not exist",
            hint="create the virtual environment, or correct 'python'",
            field="python",
        )
    target = _target(home, manifest.name)
    if target.exists() and _is_of_another_worker(target, manifest):
        raise ConfigError(
            f"There is another worker called {manifest.name!r} already ({target})",
            hint=f"choose another name, or remove it: mosaic workers remove {manifest.name}",
            field="name",
        )
    try:
        target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        atomic_write(target, manifest.to_toml().encode())
    except OSError as error:
        raise HomeError(
            f"The manifest cannot be written to {target}: {error.strerror}",
            hint="make the home directory writable",
        ) from error
    return manifest


def remove_manifest(home: Home, name: str) -> None:
    """Forget the worker; its own files are not touched."""
    if is_worker_name(name):
        try:
            _target(home, name).unlink()
        except FileNotFoundError:
            pass
        else:
            return
    known = ", ".join(list_manifests(home)) or "none"
    raise UnknownWorkerError(
        f"No worker called {name[:64]!r} was added by a manifest",
        hint=f"added workers: {known}; installed ones are removed with pip",
    )


def list_manifests(home: Home) -> list[str]:
    """Names of the workers that were added."""
    return sorted(path.stem for path in home.worker_manifests.glob("*.toml"))


def _read(path: Path, folder: Path) -> WorkerManifest:
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(
            f"{path} cannot be read: {error.strerror}",
            hint=f"a worker's folder holds a {MANIFEST_FILE} with 'name' and 'entry_point'",
        ) from error
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is not UTF-8 text", hint="save it as UTF-8") from None
    return parse_worker_manifest(text, folder)


def _is_of_another_worker(path: Path, manifest: WorkerManifest) -> bool:
    try:
        present = _read(path, path.parent)
    except ConfigError:
        return False  # a broken one is no loss
    return present.path != manifest.path


def _target(home: Home, name: str) -> Path:
    return home.worker_manifests / f"{name}.toml"
