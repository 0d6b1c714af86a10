"""Loading a checkpoint: its files are checked first, and nothing in them is executed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from cleanrl_worker.kit.checkpoints.files import (
    check_file,
    file_hash,
    read_checked,
)
from cleanrl_worker.kit.checkpoints.finding import (
    STATE_SUFFIX,
    Location,
    locate_checkpoint,
    read_manifest,
)
from cleanrl_worker.kit.checkpoints.manifest import Generation, Manifest
from cleanrl_worker.kit.checkpoints.model_file import parse_payload
from cleanrl_worker.kit.checkpoints.state import Array, decode_state, parse_safetensors
from mosaic.contracts.consent import foreign_arguments, names_module
from mosaic.errors import CheckpointError, ConfigError
from mosaic.foreign.files import parse_json

MAX_VALUES_BYTES = 32 * 2**20  # JSON: what is large is in tensors


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
