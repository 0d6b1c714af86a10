"""The folders a watched script's interpreter imports our hooks from."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

import mosaic
from mosaic.injection.variables import SITE_FOLDER


def is_name_taken(folder: Path) -> bool:
    """Whether a script in this folder has a `mosaic` of its own: it would get ours instead."""
    theirs = folder / "mosaic" / "__init__.py"
    is_package = theirs.is_file() and not theirs.samefile(mosaic.__file__)
    return is_package or (folder / "mosaic.py").is_file()


def without_ours(python_path: str) -> tuple[str, ...]:
    """The folders of a PYTHONPATH, but for those by which a worker finds MOSAIC: one that holds a
    link to it and nothing else."""
    folders = tuple(part for part in python_path.split(os.pathsep) if part)
    return tuple(folder for folder in folders if not _is_ours(Path(folder)))


def _is_ours(folder: Path) -> bool:
    link = folder / "mosaic"
    return link.is_symlink() and link.samefile(Path(mosaic.__file__).parent)


@contextlib.contextmanager
def import_folders(run_directory: Path | None) -> Iterator[tuple[str, ...]]:
    """For PYTHONPATH: the folder of our sitecustomize, and one with `mosaic` and nothing else.

    All of our site-packages would hide the libraries of another interpreter behind ours.
    """
    with contextlib.ExitStack() as cleanup:
        if run_directory is None:
            folder = cleanup.enter_context(tempfile.TemporaryDirectory(prefix="mosaic-sdk-"))
            sdk = Path(folder)
        else:
            sdk = run_directory / "sdk"
            sdk.mkdir(mode=0o700, exist_ok=True)
            cleanup.callback(_remove, sdk)
        link = sdk / "mosaic"
        link.unlink(missing_ok=True)  # of an attempt that was killed
        link.symlink_to(Path(mosaic.__file__).parent)
        yield str(SITE_FOLDER), str(sdk)


def _remove(sdk: Path) -> None:
    with contextlib.suppress(OSError):
        (sdk / "mosaic").unlink()
        sdk.rmdir()
