"""Checkpoints: saved so that a crash at any moment leaves a whole one. Loading is beside it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Hashable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from cleanrl_worker.kit.checkpoints.files import (
    FileRecord,
    NewFiles,
    delete_temporary_links,
    delete_unneeded,
    publish,
)
from cleanrl_worker.kit.checkpoints.finding import (
    BEST_SUFFIX,
    MANIFEST_NAME,
    MODEL_SUFFIX,
    STATE_SUFFIX,
    read_manifest,
)
from cleanrl_worker.kit.checkpoints.manifest import (
    Generation,
    Manifest,
    add_generation,
    free_tag,
)
from cleanrl_worker.kit.checkpoints.model_file import (
    serialize_payload,
)
from cleanrl_worker.kit.checkpoints.state import (
    ChunkedState,
    encode_state,
    raw_arrays,
    safetensors_pieces,
)
from mosaic.errors import CheckpointError, ConfigError
from mosaic.files import atomic_write_json, make_directory


class SavedCheckpoint(NamedTuple):
    path: Path  # the published weights
    step: int
    sha256: str  # of that file
    is_best: bool


class CheckpointStore:
    """The checkpoints of one training: `<name>.cleanrl_model` and `<name>.state/`.

    The manifest is what counts: files are complete on the disk before it names them, and are
    deleted only once it no longer does. A folder that already has checkpoints is continued.
    """

    def __init__(
        self,
        directory: Path,
        name: str,
        *,
        keep: int = 3,
        description: Mapping[str, Any] | None = None,
    ) -> None:
        if not name or Path(name).name != name or name.startswith("."):
            raise ConfigError(
                f"'exp_name': {name!r} cannot be a file name",
                hint="leave out slashes and leading dots",
                field="exp_name",
            )
        self._folder = directory / f"{name}{STATE_SUFFIX}"
        self._published = directory / f"{name}{MODEL_SUFFIX}"
        self._best = directory / f"{name}{BEST_SUFFIX}{MODEL_SUFFIX}"
        self._keep = keep
        self._description = dict(description or {})
        is_new = not (self._folder / MANIFEST_NAME).exists()
        self._manifest = Manifest() if is_new else read_manifest(self._folder)
        # Where each chunk of the newest generation lies, by version.
        self._chunks: dict[Hashable, tuple[str, FileRecord]] = {}

    def save(
        self,
        step: int,
        payload: Any,
        states: Mapping[str, Any],
        metric: float | None = None,
        is_final: bool = False,
    ) -> SavedCheckpoint:
        """Raises CheckpointError when the disk is full or fails; what was saved before stays."""
        if metric is not None and not math.isfinite(metric):
            metric = None
        try:
            make_directory(self._folder)
            tag, files, chunks = self._write(step, payload, states)
            new = Generation(step, tag, files, metric, is_final=is_final)
            manifest = add_generation(self._manifest, new, self._keep, self._description)
            atomic_write_json(self._folder / MANIFEST_NAME, manifest.to_json())
            self._manifest, self._chunks = manifest, chunks
            self._publish()
        except OSError as error:
            raise CheckpointError(
                f"The checkpoint of step {step} could not be saved in {self._folder}: "
                f"{error.strerror or error}",
                hint=self._what_remains(),
            ) from error
        saved = self._manifest.newest
        return SavedCheckpoint(self._published, step, files[saved.model].sha256, saved.is_best)

    def _write(
        self, step: int, payload: Any, states: Mapping[str, Any]
    ) -> tuple[str, dict[str, FileRecord], dict[Hashable, tuple[str, FileRecord]]]:
        tag = free_tag(step, set(os.listdir(self._folder)))  # noqa: PTH208 (names are enough)
        names = Generation(step, tag, {})
        new, files = NewFiles(self._folder), {}
        chunks: dict[Hashable, tuple[str, FileRecord]] = {}

        def keep_chunks(state: ChunkedState) -> list[str]:
            return [keep_chunk(state, index) for index in range(len(state))]

        def keep_chunk(state: ChunkedState, index: int) -> str:
            version = state.version(index)
            known = chunks.get(version) or self._known_chunk(version)
            if known is None:
                name = f"replay-{tag}-{len(chunks)}.safetensors"
                pieces = safetensors_pieces(raw_arrays(state.chunk(index)))
                known = name, new.write(name, pieces)
            chunks[version] = known
            return known[0]

        try:
            files[names.model] = new.write(names.model, [serialize_payload(payload)])
            tree, tensors = encode_state(dict(states), keep_chunks)
            files[names.tensors] = new.write(names.tensors, safetensors_pieces(tensors))
            text = json.dumps(tree, separators=(",", ":"), allow_nan=False).encode()
            files[names.values] = new.write(names.values, [text])
            new.reveal()
        except BaseException:
            new.discard()
            raise
        return tag, files | dict(chunks.values()), chunks

    def _known_chunk(self, version: Hashable) -> tuple[str, FileRecord] | None:
        known = self._chunks.get(version)
        if known is not None:
            path = self._folder / known[0]
            if path.is_file() and path.stat().st_size == known[1].size:
                return known
        return None

    def _publish(self) -> None:
        newest, best = self._manifest.newest, self._manifest.best
        publish(self._folder / newest.model, self._published)
        if best is not None:
            publish(self._folder / best.model, self._best)
        delete_unneeded(self._folder, self._manifest.file_names())
        delete_temporary_links(self._published, self._best)

    def _what_remains(self) -> str:
        if not self._manifest.generations:
            return "make room on the disk; nothing is saved so far"
        return f"make room on the disk; the checkpoint of step {self._manifest.newest.step} stays"
