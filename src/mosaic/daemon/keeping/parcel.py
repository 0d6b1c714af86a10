"""A parcel: one folder with everything of one run, outside of the places where runs live.

    entry.json   what the registry holds of the run, and notes of whoever made the parcel
    run/         the run's folder
    configs/     its configs

The trash holds parcels, an archive is a parcel in a zip file, and an import is a parcel that is
put back. Renaming `run/` is the one step that counts, in both directions: whoever finds a parcel
after a crash can tell from where that folder is what was going on (see `healing`).
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from mosaic.files import sync_directory, sync_file
from mosaic.paths import Home

_CONFIG_NAME = r"(config-{0}|config-{0}-policy|worker-{0}-\d{{1,9}})\.json"


class Parcel(NamedTuple):
    directory: Path

    @property
    def entry(self) -> Path:
        return self.directory / "entry.json"

    @property
    def run(self) -> Path:
        return self.directory / "run"

    @property
    def configs(self) -> Path:
        return self.directory / "configs"

    @property
    def has_run(self) -> bool:
        return os.path.lexists(self.run)

    def create(self) -> None:
        self.directory.mkdir(mode=0o700)
        self.configs.mkdir(mode=0o700)
        # Before anything is moved in: a folder that a power cut takes away takes it along.
        sync_directory(self.directory.parent)


def is_config_name(name: str, run_id: str) -> bool:
    return re.fullmatch(_CONFIG_NAME.format(run_id), name) is not None


def config_files(home: Home, run_id: str) -> list[Path]:
    """Also where somebody put a link; it is moved and removed as a link."""
    candidates = (
        home.config(run_id),
        home.policy_config(run_id),
        *sorted(home.configs.glob(f"worker-{run_id}-*.json")),
    )
    return [path for path in candidates if os.path.lexists(path)]


def take_in(parcel: Parcel, home: Home, run_id: str) -> None:
    """Move a run into its parcel: the folder first, since that is what decides."""
    source = home.run(run_id).directory
    if os.path.lexists(source):
        source.rename(parcel.run)
        sync_directory(home.runs)
        sync_directory(parcel.directory)
    take_configs(parcel, home, run_id)


def take_configs(parcel: Parcel, home: Home, run_id: str) -> None:
    parcel.configs.mkdir(mode=0o700, exist_ok=True)
    found = config_files(home, run_id)
    for path in found:
        path.rename(parcel.configs / path.name)
    if found:
        sync_directory(parcel.configs)


def give_configs(parcel: Parcel, home: Home, run_id: str) -> None:
    if parcel.configs.is_dir():
        for path in sorted(parcel.configs.iterdir()):
            if is_config_name(path.name, run_id):
                path.rename(home.configs / path.name)
        sync_directory(home.configs)


def give_run(parcel: Parcel, home: Home, run_id: str) -> None:
    target = home.run(run_id).directory
    if os.path.lexists(target):
        # rename() would silently replace an empty folder.
        raise FileExistsError(f"{target} exists")
    parcel.run.rename(target)
    sync_directory(home.runs)


def give_all_back(parcel: Parcel, home: Home, run_id: str) -> None:
    """As if the run had never been taken in."""
    give_configs(parcel, home, run_id)
    if parcel.has_run:
        give_run(parcel, home, run_id)
    remove(parcel.directory)


def make_durable(parcel: Parcel) -> None:
    """Every file and every name in it; for one that was just filled."""
    for folder, _, names in os.walk(parcel.directory):
        for name in names:
            sync_file(Path(folder, name))
        sync_directory(Path(folder))


def remove(path: Path) -> None:
    """A link goes, and what it points at stays; folders that forbid it are made to allow it."""
    if path.is_symlink() or path.is_file():
        path.unlink()
        return
    for folder, _, _ in os.walk(path):
        if stat.S_IMODE(os.lstat(folder).st_mode) & 0o700 != 0o700:
            Path(folder).chmod(0o700)
    shutil.rmtree(path, ignore_errors=True)


def files_below(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """(relative path, status) of everything below that is no folder; links are not followed."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = sorted(os.scandir(folder / prefix), key=lambda entry: entry.name)
        except OSError:
            continue  # removed meanwhile, or not ours to read
        for entry in entries:
            relative = f"{prefix}{entry.name}"
            try:
                if entry.is_dir(follow_symlinks=False):
                    waiting.append(f"{relative}/")
                else:
                    yield relative, entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue


def size_below(folder: Path) -> int:
    if folder.is_symlink():
        return 0
    return sum(found.st_size for _, found in files_below(folder) if stat.S_ISREG(found.st_mode))


def size_of_run(home: Home, run_id: str) -> int:
    """What a run occupies, with its configs."""
    size = size_below(home.run(run_id).directory)
    for path in config_files(home, run_id):
        with contextlib.suppress(FileNotFoundError):
            size += path.lstat().st_size
    return size
