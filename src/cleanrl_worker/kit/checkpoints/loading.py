"""Finding and loading a checkpoint: files are checked first, and nothing in them is executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cleanrl_worker.kit.checkpoints.files import (
    CheckpointError,
    check_file,
    file_hash,
    read_checked,
    regular_size,
    unreadable,
)
from cleanrl_worker.kit.checkpoints.manifest import (
    MAX_BYTES,
    Generation,
    Manifest,
    OtherVersionError,
    parse_manifest,
)
from cleanrl_worker.kit.checkpoints.model_file import parse_payload
from cleanrl_worker.kit.checkpoints.state import Array, decode_state, parse_safetensors
from mosaic.contracts.consent import foreign_arguments, names_module
from mosaic.errors import ConfigError
from mosaic.foreign.files import parse_json, read_regular

MODEL_SUFFIX = ".cleanrl_model"
STATE_SUFFIX = ".state"
BEST_SUFFIX = "-best"
MANIFEST_NAME = "manifest.json"
_RUN_PATTERNS = ("runs/*", "outputs/runs/*")
MAX_VALUES_BYTES = 32 * 2**20  # JSON: what is large is in tensors


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


class Checkpoint:
    """One generation, checked. The parts of a replay buffer are read when they are iterated."""

    def __init__(self, location: Location, manifest: Manifest, generation: Generation) -> None:
        folder = self._folder = location.state_folder
        self._generation = generation
        self.step = generation.step
        self.description = manifest.description
        self.metric = generation.metric
        self.is_final = generation.is_final
        self.path = location.model or folder / generation.model
        model = self._read(generation.model)
        self.weights: Any = parse_payload(model, folder / generation.model)
        values = folder / generation.values
        try:
            if generation.files[generation.values].size > MAX_VALUES_BYTES:
                raise ValueError("it is far too large")
            tree = parse_json(self._read(generation.values))
            tensors = parse_safetensors(self._read(generation.tensors))
            self._states = decode_state(tree, tensors, self._open_chunks)
        except ValueError as error:
            raise CheckpointError(
                f"The training state in {values} cannot be understood: {error}",
                hint="it was not written by MOSAIC; its weights can still be evaluated",
            ) from error

    def part(self, name: str) -> Any:
        """The state of one part of the training. Raises CheckpointError when there is none."""
        try:
            return self._states[name]
        except (KeyError, TypeError) as error:
            raise CheckpointError(
                f"The checkpoint {self.path} holds no state of {name!r}",
                hint="it was saved by another algorithm or version; it can still be evaluated",
            ) from error

    def _open_chunks(self, names: Any) -> SavedChunks:
        if not isinstance(names, list):
            raise ValueError("chunks are not listed")  # noqa: TRY004 (a malformed file)
        return SavedChunks(self, names)

    def _read(self, name: str) -> bytes:
        return read_checked(self._folder / name, self._generation.files[name])

    def read_chunk(self, name: Any) -> dict[str, Array]:
        if not isinstance(name, str) or name not in self._generation.files:
            raise CheckpointError(
                f"The checkpoint {self.path} of step {self.step} has no replay buffer",
                hint="only the newest checkpoints keep theirs; this one can be evaluated",
            )
        try:
            tensors = parse_safetensors(self._read(name))
        except ValueError as error:
            raise CheckpointError(
                f"The checkpoint file {self._folder / name} is damaged: {error}",
                hint="it was not written by MOSAIC",
            ) from error
        return {key: tensor.numpy() for key, tensor in tensors.items()}


class SavedChunks:
    def __init__(self, checkpoint: Checkpoint, names: list[Any]) -> None:
        self._checkpoint, self._names = checkpoint, names

    def __len__(self) -> int:
        return len(self._names)

    def __iter__(self) -> Iterator[dict[str, Array]]:
        return (self._checkpoint.read_chunk(name) for name in self._names)


def load_checkpoint(path: Path, step: int | None = None, *, with_replay: bool = True) -> Checkpoint:
    """The newest generation, that of `step`, or the one whose own file is named.

    All its files are checked first; `with_replay=False` leaves out the replay buffer, which can be
    gigabytes and is not needed to evaluate. Raises CheckpointError.
    """
    location = locate_checkpoint(path)
    manifest = read_manifest(location.state_folder)
    generation = _choose(location, manifest, step)
    try:
        _check(location.state_folder, generation, with_replay)
    except CheckpointError as error:
        intact = _newest_intact(location.state_folder, manifest, generation)
        if intact is None:
            raise
        older = location.state_folder / intact.model
        raise CheckpointError(
            error.message,
            hint=f"the checkpoint of step {intact.step} is intact: use {older}",
        ) from error
    return Checkpoint(location, manifest, generation)


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


def _choose(location: Location, manifest: Manifest, step: int | None) -> Generation:
    if step is not None:
        for generation in reversed(manifest.generations):
            if generation.step == step:
                return generation
        steps = ", ".join(str(generation.step) for generation in manifest.generations)
        raise CheckpointError(
            f"There is no checkpoint of step {step} in {location.state_folder}",
            hint=f"there are those of steps {steps}",
        )
    if location.model is None:
        return manifest.newest
    return _generation_of_model(location.model, location.state_folder, manifest)


def _generation_of_model(model: Path, folder: Path, manifest: Manifest) -> Generation:
    """The published weights stand for the newest generation, any others for their own."""
    if model.parent == folder:
        for generation in manifest.generations:
            if generation.model == model.name:
                return generation
    sha256 = file_hash(model)
    if not manifest.knows_model(sha256):
        raise CheckpointError(
            f"{model} is not what was saved with the training state beside it: it is damaged or of "
            f"another training",
            hint=f"give {folder} instead, which has the weights once more; to evaluate this file "
            f"all the same, move it away from there",
        )
    if model.stem == folder.name.removesuffix(STATE_SUFFIX):
        return manifest.newest
    # Newest first, as weights may not change between two steps; but the best one is meant as such.
    for generation in sorted(reversed(manifest.generations), key=lambda item: not item.is_best):
        if generation.files[generation.model].sha256 == sha256:
            return generation
    return manifest.newest


def _check(folder: Path, generation: Generation, with_replay: bool) -> None:
    skipped = () if with_replay else generation.replay
    for name, record in generation.files.items():
        if name not in skipped:
            check_file(folder / name, record)


def _newest_intact(folder: Path, manifest: Manifest, damaged: Generation) -> Generation | None:
    for generation in reversed(manifest.generations):
        if generation is not damaged:
            try:
                _check(folder, generation, with_replay=True)
            except CheckpointError:
                continue
            return generation
    return None


def refuse_foreign_module(env_id: str, path: Path) -> None:
    """Refuses `module:Environment-v0`, which would import whatever a file names."""
    if names_module(env_id, "env_id"):
        raise ConfigError(
            f"'env_id': a file beside {path.name} says {env_id[:80]!r}, and a module is not "
            "imported because a file says so",
            hint="say it yourself: `mosaic eval … --env-id`, `mosaic resume … --set env_id=…`",
            field="env_id",
        )


def refuse_foreign_arguments(env_kwargs: Mapping[str, Any], path: Path) -> None:
    """Refuses what may be a file, a function or another environment."""
    for name, value in foreign_arguments(env_kwargs).items():
        raise ConfigError(
            f"'env_kwargs': a file beside {path.name} says {name[:40]} = {str(value)[:80]!r}, "
            "which is neither a number nor a plain word",
            hint="say it yourself: `mosaic eval … --extra env_kwargs={…}`, "
            "`mosaic resume … --set env_kwargs={…}`",
            field="env_kwargs",
        )
