"""Finding a checkpoint and what it says of itself. Imports nothing heavy."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from cleanrl_worker.kit.checkpoints.files import regular_size, unreadable
from cleanrl_worker.kit.checkpoints.manifest import (
    MAX_BYTES,
    Manifest,
    OtherVersionError,
    parse_manifest,
)
from mosaic.errors import CheckpointError
from mosaic.foreign.files import read_regular

MODEL_SUFFIX = ".cleanrl_model"
STATE_SUFFIX = ".state"
BEST_SUFFIX = "-best"
MANIFEST_NAME = "manifest.json"
_RUN_PATTERNS = ("runs/*", "outputs/runs/*")


class Location(NamedTuple):
    state_folder: Path
    model: Path | None  # the weights file that was named, if one was


def locate_checkpoint(path: Path) -> Location:
    """From a .cleanrl_model, a .state folder or the folder of a run. Raises CheckpointError."""
    try:
        is_folder = path.is_dir()
        exists = is_folder or path.stat() is not None
    except FileNotFoundError:
        exists = False
    except OSError as error:
        raise unreadable(path, error) from error
    if is_folder:
        inside = find_checkpoint(path)  # when it is the directory above the run folders
        return (
            Location(_state_of_folder(path), None) if inside is None else locate_checkpoint(inside)
        )
    for folder in _state_folders_of_model(path):
        if (folder / MANIFEST_NAME).exists():
            return Location(folder, path if exists else None)
    if not exists:
        raise CheckpointError(f"There is no checkpoint {path}", hint="check the path")
    raise CheckpointError(
        f"{path} holds weights only: there is no training state beside it "
        f"({_state_folders_of_model(path)[0].name}/ is missing)",
        hint="it can be evaluated, but not resumed",
    )


def find_checkpoint(run_directory: Path) -> Path | None:
    """The newest checkpoint of a run: its .cleanrl_model, or its .state folder where a crash came
    before the first weights were published; None when it has none."""
    found: dict[Path, float] = {}
    for pattern in _RUN_PATTERNS:
        for model in run_directory.glob(f"{pattern}/*{MODEL_SUFFIX}"):
            if not model.stem.endswith(BEST_SUFFIX):
                found[model] = _modified_at(model)
        for manifest in run_directory.glob(f"{pattern}/*{STATE_SUFFIX}/{MANIFEST_NAME}"):
            model = manifest.parent.with_suffix(MODEL_SUFFIX)
            path = model if model.exists() else manifest.parent
            found[path] = max(found.get(path, 0.0), _modified_at(manifest))
    return max(found, key=lambda path: (found[path], path.name), default=None)


def _state_of_folder(folder: Path) -> Path:
    if (folder / MANIFEST_NAME).exists():
        return folder
    manifests = sorted(folder.glob(f"*{STATE_SUFFIX}/{MANIFEST_NAME}"), key=_modified_at)
    if manifests:
        return manifests[-1].parent
    weights = sorted(folder.glob(f"*{MODEL_SUFFIX}"))
    if weights:
        raise CheckpointError(
            f"{folder} holds weights only ({', '.join(path.name for path in weights[:3])}): there "
            f"is no training state",
            hint="such a file can be evaluated, if it is named itself, but not resumed",
        )
    raise CheckpointError(
        f"There is no checkpoint in {folder}",
        hint="give the .cleanrl_model file, its .state folder or the folder of the run",
    )


def _state_folders_of_model(model: Path) -> list[Path]:
    folders = [model.with_suffix(STATE_SUFFIX)]
    if model.stem.endswith(BEST_SUFFIX):
        folders.append(model.with_name(model.stem.removesuffix(BEST_SUFFIX) + STATE_SUFFIX))
    if model.parent.suffix == STATE_SUFFIX:  # one generation's own file was named
        folders.append(model.parent)
    return folders


def _modified_at(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def read_manifest(folder: Path) -> Manifest:
    """Raises CheckpointError."""
    path = folder / MANIFEST_NAME
    try:
        if regular_size(path) > MAX_BYTES:
            raise ValueError("it is far too large")
        return parse_manifest(read_regular(path, MAX_BYTES))
    except OSError as error:
        raise unreadable(path, error) from error
    except OtherVersionError as error:
        raise CheckpointError(
            f"The checkpoint manifest {path} is of another version of MOSAIC: {error}",
            hint="resume it with the version it was saved with; its weights can be evaluated",
        ) from error
    except ValueError as error:
        raise CheckpointError(
            f"The checkpoint manifest {path} is damaged: {error}",
            hint=f"the weights in {folder} (model-*) can still be evaluated, but not resumed",
        ) from error
